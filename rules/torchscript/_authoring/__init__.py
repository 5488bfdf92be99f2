"""The code that makes TorchScript, the code that only TorchScript reads, and whether a project still needs it."""
