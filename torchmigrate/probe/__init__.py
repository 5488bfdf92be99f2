"""`torchmigrate probe`: can this machine run that wheel?

`facts` says what is there, `collect` and `ask` find it out, `matrix` knows what fits, `verdict` says so what,
`render` shows it. Verdicts are pure functions of the facts and the tables: a recorded facts file gives the same
verdict on any machine.
"""
