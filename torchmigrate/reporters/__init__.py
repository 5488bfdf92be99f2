"""Output formats, one module each: ``write(results, report, out)`` in the module that has the format's name."""
