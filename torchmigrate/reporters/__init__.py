"""Output formats, one module for each: the module named after the format has `write_report`."""
