"""The classes that derive from `torch.autograd.Function`."""
