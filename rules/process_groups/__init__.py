"""Rules about process groups that are handed over by name."""
