"""What makes TorchScript, what only TorchScript reads, and whether a project still needs it."""
