"""What the terminal sees: text that cannot control it, colour, progress, diffs."""
