"""The entry point for reading a Python file or a notebook."""

from __future__ import annotations

from os import PathLike, fspath

from torchmigrate.text.source import Source


def read(path: str | PathLike[str], data: bytes) -> Source:
    """Return the source of the Python file or notebook at ``path`` with the content ``data``. Raises SourceError.

    Raises SourceError if ``data`` is not text in the encoding that it declares, or not a notebook.
    """
    name = fspath(path)
    if name.endswith(".ipynb"):
        from torchmigrate.text.notebook import Notebook

        return Notebook.parse(name, data)
    return Source.read(name, data)
