"""A file run for each rank of a small world: what it sends and receives, and who waits for whom."""
