"""The futures of `torch.jit.fork`, followed to where they are waited for."""
