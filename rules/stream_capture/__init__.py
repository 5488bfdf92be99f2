"""Rules about stream capture."""
