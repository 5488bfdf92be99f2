"""torchmigrate: finds what a PyTorch upgrade breaks in a project, and fixes what it can prove."""

__version__ = "0.2.0"

__all__ = ["Checked", "ConfigError", "FileError", "Finding", "Fixed", "Safety", "Severity", "check", "fix"]


def __getattr__(name: str) -> object:
    """Import a name from `torchmigrate.library` when it is first used; ``__init__.pyi`` has the types."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(__import__("torchmigrate.library", fromlist=[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
