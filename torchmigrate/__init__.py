"""torchmigrate: finds what a PyTorch upgrade breaks in a project, and mends what it can prove."""

__version__ = "0.2.0"
