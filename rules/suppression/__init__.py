"""Rules about comments that silence findings."""
