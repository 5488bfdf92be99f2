"""The entry point for reading a Python file or a notebook."""

from __future__ import annotations

from os import PathLike, fspath

from torchmigrate.text.source_text import SourceText


def read_source(path: str | PathLike[str], data: bytes) -> SourceText:
    """Return the source of the Python file or notebook at ``path`` with the content ``data``. Raises SourceError.

    Raises SourceError if ``data`` is not text in the encoding that it declares, or not a notebook.
    """
    name = fspath(path)
    if name.endswith(".ipynb"):
        from torchmigrate.text.notebook import Notebook

        return Notebook.parse_notebook(name, data)
    return SourceText.decode_source(name, data)
