"""The text of a file in another language; see `SourceText` for offsets."""

from __future__ import annotations

import codecs
from functools import cached_property
from itertools import pairwise
from os import PathLike, fspath

from torchmigrate.foreign import comment_styles
from torchmigrate.foreign.foreign_readers import ForeignContents
from torchmigrate.foreign.foreign_readers import read_contents as read_uses
from torchmigrate.model.findings import Span
from torchmigrate.prefilter.foreign_languages import language_of
from torchmigrate.semantics.module_links import ModuleLinks
from torchmigrate.text.source_text import SourceText


class ForeignSource(SourceText):
    """A source without a Python syntax tree, with the names of torch's runtime in it."""

    @classmethod
    def decode_source(cls, path: str | PathLike[str], data: bytes) -> ForeignSource:
        """Return the source at ``path`` with the content ``data``.

        Compilers take any encoding: what is no UTF-8 is read as Latin-1, in which names and offsets are the same.
        """
        bom = data.startswith(codecs.BOM_UTF8)
        text = data[len(codecs.BOM_UTF8) :] if bom else data
        try:
            text.decode()
        except UnicodeDecodeError:
            return cls(fspath(path), data, text.decode("latin-1").encode(), "latin-1")
        return cls(fspath(path), data, text, "utf-8", bom)

    links: ModuleLinks | None = None
    """Where the file finds the headers that it includes."""

    @cached_property
    def contents(self) -> ForeignContents:
        """The names of torch's runtime in the file. Raises SourceError if the file is malformed."""
        return read_uses(self.path, self.text, self.links)

    def find_comments_and_statements(self) -> tuple[list[Span], list[Span]]:
        """Return the comments, and the lines with code, which a comment at their end or on the line before refers to."""
        view = self.text.decode("latin-1")
        language = language_of(self.path) or ""
        code = comment_styles.blank_comments(language, view)
        starts = [*self.line_starts, len(view)]
        statements = [Span(start, end) for start, end in pairwise(starts) if code[start:end].strip()]
        return list(comment_styles.find_comments(language, view)), statements
