"""`torchmigrate probe`: can this machine run the installed torch, and the one to upgrade to?

`torchmigrate.probe.facts` is the format of what `torchmigrate.probe.collect` finds out, `torchmigrate.probe.verdict` judges
it by the tables, and `torchmigrate.probe.render` shows the result. Verdicts are pure functions of the facts and the tables: a
recorded facts file gets the same verdict on any machine.
"""
