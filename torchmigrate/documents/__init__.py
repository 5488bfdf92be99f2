"""Project files that are not Python modules: what they install, from where, and on which image."""
