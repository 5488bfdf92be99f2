"""Reads torch's Python API in the sources of its releases, and makes the table of what became of each name."""
