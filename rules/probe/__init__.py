"""Findings of `torchmigrate probe` about a machine.

These rules watch no code: each module is the page of `torchmigrate explain` for its `FINDING_CODE`, and the probe decides
when that applies.
"""
