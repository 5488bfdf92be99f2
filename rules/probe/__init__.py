"""What `torchmigrate probe` says of a machine.

These rules watch no code: each is the page that `torchmigrate explain` shows for a code, and `torchmigrate.probe` says when
it applies.
"""
