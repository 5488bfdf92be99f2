"""The meaning of a row of `torchmigrate.tables.api_changes` for one use, and the edits of its recipes."""
