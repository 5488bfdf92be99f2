"""Requirements in commands: a shell takes ``>`` and ``<`` for redirections unless quotes are around them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from torchmigrate.model.findings import Edit
from torchmigrate.prefilter.project_file_kinds import kind_of
from torchmigrate.text.source_text import SourceText

_COMMANDS = frozenset({"shell", "docker", "make"})
_MIXED = frozenset({"yaml", "notebook"})
"""Kinds of files that hold commands among other things."""
_INSTALL = re.compile(rb"\b(?:install|add|sync)\b")
_ASSIGNED = re.compile(rb"[A-Za-z_]\w*=(?!=)")


def quote_redirections(edits: Iterable[Edit], source: SourceText) -> Iterator[Edit]:
    """Yield edits of a file so that a word of a command which gets ``>`` or ``<`` stands in quotes.

    All edits of such a word become one.
    """
    kind, text, left = kind_of(source.path), source.original, [*edits]
    while left:
        edit = left.pop(0)
        word = (
            _find_bare_word(text, edit)
            if kind in _COMMANDS | _MIXED and re.search("[<>]", edit.text)
            else None
        )
        is_command = kind in _COMMANDS or (
            word is not None and _INSTALL.search(_get_line_before(text, word[0]))
        )
        if word is None or not is_command:
            yield edit
            continue
        start, end = word
        inside = [edit, *(other for other in left if start <= other.start and other.end <= end)]
        left = [other for other in left if other not in inside]
        new, at = "", start
        for one in inside:
            new += text[at : one.start].decode("latin-1") + one.text
            at = one.end
        yield Edit(start, end, f'"{new}{text[at:end].decode("latin-1")}"')


def _find_bare_word(text: bytes, edit: Edit) -> tuple[int, int] | None:
    """Return the offsets of the word of a command around an edit; None where quotes are around it."""
    before, after = re.search(rb"\S*\Z", text[: edit.start]), re.match(rb"\S*", text[edit.end :])
    assert before is not None
    assert after is not None
    assigned = _ASSIGNED.match(before[0])
    start, end = before.start() + (assigned.end() if assigned else 0), edit.end + after.end()
    word = text[start:end]
    opened = any(_get_line_before(text, edit.start).count(quote) % 2 for quote in (b'"', b"'"))
    return None if opened or b'"' in word or b"'" in word else (start, end)


def _get_line_before(text: bytes, at: int) -> bytes:
    """Return the text of a command before an offset, with the lines that a backslash continues."""
    start = text.rfind(b"\n", 0, at) + 1
    while start and re.search(rb"\\[ \t]*\r?\n\Z", text[:start]):
        start = text.rfind(b"\n", 0, start - 1) + 1
    return text[start:at]
