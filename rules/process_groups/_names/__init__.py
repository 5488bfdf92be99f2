"""Names of process groups: where they come from, what takes them, what stands in their place."""
