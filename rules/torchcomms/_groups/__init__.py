"""Process groups as source code makes them, and the ranks that make them."""
