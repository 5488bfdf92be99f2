"""What decides what a run does: every setting, and where its value comes from."""
