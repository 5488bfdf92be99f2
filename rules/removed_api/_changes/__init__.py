"""The meaning of a row of `torchmigrate.tables.changes` for one use, and the edits of its recipes."""
