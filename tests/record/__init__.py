"""Tests of `torchmigrate record`, and of what records do to findings and fixes."""
