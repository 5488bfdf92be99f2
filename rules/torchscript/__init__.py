"""Rules about TorchScript."""
