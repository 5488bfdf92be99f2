"""Reads torch's Python API from the sources of its releases, and builds the table with the history of each name."""
