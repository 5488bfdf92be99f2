"""The proof that edits changed what they cover and nothing else."""
