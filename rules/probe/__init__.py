"""The pages about what `torchmigrate probe` finds on a machine.

These rules watch no code: each is the page of `torchmigrate explain` for a code, and the probe decides when it applies.
"""
