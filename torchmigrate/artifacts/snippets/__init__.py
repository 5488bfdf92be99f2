"""Programs for the user's interpreter, which may be older and lacks torchmigrate: each is a single file."""
