"""Names of process groups: where they come from, what takes them, and what replaces them."""
