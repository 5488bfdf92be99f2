"""`torchmigrate probe`: can this machine run the installed torch, and the one to upgrade to?

`torchmigrate.probe.machine_facts` is the format of what `torchmigrate.probe.collector` finds out, `torchmigrate.probe.verdict` judges
it by the tables, and `torchmigrate.probe.verdict_text` shows the result. Verdicts are pure functions of the facts and the tables: a
recorded facts file gets the same verdict on any machine.
"""
