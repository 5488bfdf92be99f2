"""Measures the tool against its peers, on real sources: `python -m benchmarks`."""
