"""Comments that silence a finding, put where they may go; whether one does is for the caller to see."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from torchmigrate.documents.document import Document
from torchmigrate.gates.kinds import is_document
from torchmigrate.model.findings import Edit, Finding, Span
from torchmigrate.text.directives import BODY, DIRECTIVE
from torchmigrate.text.read import read
from torchmigrate.text.source import Source, SourceError


def silenced(path: str, data: bytes, finding: Finding) -> Iterator[bytes]:
    """The content of a file with a comment that may silence the finding, the best place first."""
    if finding.span is None:
        return
    source = Document.read(path, data) if is_document(path) else read(path, data)
    for edit in _comments(source, finding.span, finding.code):
        with contextlib.suppress(SourceError):  # not there: another cell, or a magic
            yield source.replaced([edit])


def _comments(source: Source, span: Span, code: str) -> Iterator[Edit]:
    """At the end of the finding's last or first line, or on a line before it."""
    for offset in dict.fromkeys((max(span.end - 1, span.start), span.start)):
        line = _content(source, offset)
        text = source.original[line.start : line.end].decode()
        said = DIRECTIVE.search(text)
        body = BODY.fullmatch(said["body"]) if said else None
        if said and body and body["codes"] and not body["file"]:
            at = line.start + len(text[: said.start("body") + body.end("codes")].encode())
            yield Edit(at, at, f", {code}")
        else:
            yield Edit(line.end, line.end, f"  # torchmigrate: ignore {code}")
    line = _content(source, span.start)
    code_line = source.text[line.start : line.end]
    indentation = code_line[: len(code_line) - len(code_line.lstrip())].decode()
    yield Edit(line.start, line.start, f"{indentation}# torchmigrate: ignore {code}\n")


def _content(source: Source, offset: int) -> Span:
    """The line that holds ``offset``, without its end and the white space before that."""
    line = source.whole_line(offset)
    return Span(line.start, line.start + len(source.original[line.start : line.end].rstrip()))
