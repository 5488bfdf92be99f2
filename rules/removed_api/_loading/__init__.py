"""Evidence on the files that `torch.load` reads: what is in them, what put it there, and where they come from."""
