"""Output for terminals: text that cannot control them, color, progress, diffs."""
