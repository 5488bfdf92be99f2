"""Programs for the user's interpreter, which may be older than the tool's and has nothing of it: one file each."""
