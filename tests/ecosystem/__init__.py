"""Runs the tool on real packages from the package index, which are unpacked and never installed."""
