"""Model files that Python writes and another language reads."""
