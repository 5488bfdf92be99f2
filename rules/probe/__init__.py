"""The probe's verdicts: the page that `torchmigrate explain` shows for each code.

These rules watch no code; `torchmigrate.probe` says when each of them applies.
"""
