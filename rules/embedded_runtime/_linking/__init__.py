"""Model files that Python code saves and another language loads."""
