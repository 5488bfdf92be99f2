"""The symbols that make TorchScript."""

AUTHORING = ("torch.jit.script", "torch.jit.trace")
