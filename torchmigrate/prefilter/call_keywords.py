"""The arguments of a call, read from the bytes of a file: most calls of ``torch.load`` already pass what a rule asks for."""

from __future__ import annotations

import re

from torchmigrate.model.rule import Calls

_OPENED = re.compile(rb"(?:[ \t\f]|\\(?:\r\n?|\n))*\(")
_PIECE = re.compile(
    rb"#[^\r\n]*"
    rb"|'''.*?'''|\"\"\".*?\"\"\"|'(?:[^'\\\r\n]|\\.)*'|\"(?:[^\"\\\r\n]|\\.)*\""
    rb"|(?P<name>\w+)(?:[\s\\]*(?P<equals>=)(?!=))?"
    rb"|[(\[{]|(?P<close>[)\]}])|(?P<comma>,)|(?P<star>\*)",
    re.DOTALL,
)
_LONGEST = 4000
"""The most bytes of a call that are read."""


def may_call_matter(calls: Calls, text: bytes, at: int) -> bool:
    """Return whether the use of a symbol whose name ends at byte ``at`` may be a call that matters, or no call at all."""
    opened = _OPENED.match(text, at)
    found = opened and _count_arguments(text, opened.end())
    if not found:
        return True
    keywords, positional = found
    return (
        (not calls.giving or not calls.giving.isdisjoint(keywords))
        and calls.without.isdisjoint(keywords)
        and calls.more_than < positional < calls.fewer_than
    )


def _count_arguments(text: bytes, start: int) -> tuple[set[str], int] | None:
    """Return the keywords, and the number of positional arguments, of the call whose arguments begin at byte ``start``.

    Returns None where that is uncertain.
    """
    keywords: set[str] = set()
    depth, arguments, is_filled = 1, 0, False
    for piece in _PIECE.finditer(text, start, start + _LONGEST):
        if piece["close"]:
            depth -= 1
            if not depth:
                return keywords, arguments + is_filled - len(keywords)
        elif depth == 1 and piece["comma"]:
            arguments += is_filled
            is_filled = False
            continue
        elif depth == 1 and piece["star"] and not is_filled:
            return None
        elif depth == 1 and piece["equals"] and not is_filled:
            keywords.add(piece["name"].decode())
        elif piece[0][:1] in b"([{":
            depth += 1
        elif piece[0].startswith(b"#"):
            continue
        is_filled = True
    return None
