"""Benchmarks of the tool against similar tools, on real sources: `python -m benchmarks`."""
