"""Files in other languages that embed torch's runtime: what of it each names, and where."""
