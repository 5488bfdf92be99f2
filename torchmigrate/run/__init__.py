"""Runs over many files, which are read, checked in several processes, kept in the cache, and written back."""
