"""The futures of `fork` and `wait`."""
