"""The edits of one file, made as small as they can be, none of them in a line that is marked to be left alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from torchmigrate.documents.requirements import logical_lines
from torchmigrate.model.findings import Edit, NoFix, Span
from torchmigrate.text.source import Source


def merged(collected: Iterable[Edit], source: Source) -> tuple[Edit, ...]:
    """The edits of one file. Raises NoFix where they cannot be made together, or one must not be made."""
    edits = tuple(dict.fromkeys(sorted(_smallest(edit, source.original) for edit in collected)))
    if any(after.start < before.end for before, after in pairwise(edits)):
        raise NoFix("one place would have to say two things")
    if any(span.start <= edit.start < span.end for span in _ignored(source) for edit in edits):
        raise NoFix("a line that would have to change with it is marked to be left alone")
    return edits


def _smallest(edit: Edit, text: bytes) -> Edit:
    """The edit without what it leaves as it is, so that two that come to the same are the same."""
    old, new = text[edit.start : edit.end].decode("latin-1"), edit.text
    front = _common(old, new)
    back = _common(old[front:][::-1], new[front:][::-1])
    return Edit(edit.start + front, edit.end - back, new[front : len(new) - back])


def _common(one: str, other: str) -> int:
    """How many characters two texts have in common from their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))


def _ignored(source: Source) -> Iterator[Span]:
    """The lines that a comment marks to be left alone, at their end or on the line before."""
    if b"torchmigrate: ignore" not in source.original:
        return
    pending = False
    for line in logical_lines(source.original.decode("latin-1")):
        text = source.original[line.start : line.end]
        marked = b"torchmigrate: ignore" in text
        if text.lstrip().startswith(b"#"):
            pending = pending or marked
            continue
        if marked or pending:
            yield line
        pending = False
