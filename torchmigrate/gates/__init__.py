"""The prefilter: which files concern a run, decided by names and bytes before anything is parsed."""
