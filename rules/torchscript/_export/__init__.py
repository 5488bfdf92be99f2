"""A traced, scripted or loaded module and all that its scope does with it, rewritten for `torch.export`."""
