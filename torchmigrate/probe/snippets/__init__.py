"""Programs for other interpreters, each run in a process of its own with a time limit.

They are never imported: `torchmigrate.probe.ask` passes their text to ``python -c`` with the path of a result file.
Those for the user's interpreter use the standard library of Python 3.8 and nothing newer.
"""
