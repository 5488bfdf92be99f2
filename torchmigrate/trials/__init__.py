"""Proof by the project's own tests: fixes tried in copies of the project, and those left out that break a command."""
