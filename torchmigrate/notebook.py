"""Notebooks: the code cells of an ``.ipynb`` file as one Python text."""

from __future__ import annotations

from torchmigrate.source import Source, SourceError


class Notebook(Source):
    """The code cells of a notebook."""

    @classmethod
    def parse(cls, path: str, data: bytes) -> Notebook:
        """The notebook ``path`` with the content ``data``. Raises SourceError."""
        raise SourceError("notebooks are not supported yet")
