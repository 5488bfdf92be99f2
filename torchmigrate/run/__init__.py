"""Many files: read, looked at in several processes, kept in the cache, and written back."""
