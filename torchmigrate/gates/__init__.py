"""Which files concern a run, told by their names and bytes before anything is parsed."""
