"""What is known about many files together: which there are, what they export and use, the oldest torch they support."""
