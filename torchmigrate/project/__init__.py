"""Facts about many files together: which files there are, what they export, and which symbols they use."""
