"""Single operations rewritten into one batch that is proved to complete."""
