"""Evidence from a run: what `torchmigrate record` writes, how it is read, and what it says about findings."""

FOLDER = ".torchmigrate"
"""The folder in a project that has its record."""
