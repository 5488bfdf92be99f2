"""The one place that tells a project file from a Python module or a notebook."""

from __future__ import annotations

from torchmigrate.gates.kinds import is_document
from torchmigrate.text.read import read as read_module
from torchmigrate.text.source import Source


def read(path: str, data: bytes) -> Source:
    """The file at ``path`` with the content ``data``: a `torchmigrate.documents.document.Document` or a module.

    Raises SourceError if ``data`` is not text, or not a notebook.
    """
    if is_document(path):
        from torchmigrate.documents.document import Document

        return Document.read(path, data)
    return read_module(path, data)
