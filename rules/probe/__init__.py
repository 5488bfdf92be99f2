"""Findings of `torchmigrate probe` about a machine.

These rules watch no code: each is the page of `torchmigrate explain` for a code, and the probe decides when it applies.
"""
