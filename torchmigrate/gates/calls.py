"""Which keywords a call gives, asked of its bytes: most calls of ``torch.load`` already give what a rule misses."""

from __future__ import annotations

import re

from torchmigrate.model.rule import Calls

_OPENED = re.compile(rb"(?:[ \t\f]|\\(?:\r\n?|\n))*\(")
_PIECE = re.compile(
    rb"#[^\r\n]*"
    rb"|'''.*?'''|\"\"\".*?\"\"\"|'(?:[^'\\\r\n]|\\.)*'|\"(?:[^\"\\\r\n]|\\.)*\""
    rb"|(?<=[(,\s])(?P<name>\w+)[\s\\]*=(?!=)|\w+|[(\[{]|(?P<close>[)\]}])|(?P<star>(?<=[(,\s])\*\*)",
    re.DOTALL,
)
_LONGEST = 4000
"""Bytes of a call beyond which it is not read."""


def may_matter(calls: Calls, text: bytes, at: int) -> bool:
    """Return whether the use of a symbol whose name ends at byte ``at`` may be a call that matters, or no call at all."""
    opened = _OPENED.match(text, at)
    given = opened and _keywords(text, opened.end())
    if given is None:
        return True
    return calls.without.isdisjoint(given) and (not calls.giving or not calls.giving.isdisjoint(given))


def _keywords(text: bytes, start: int) -> set[str] | None:
    """Return the keywords of the call whose arguments begin at byte ``start``; None where it cannot be said."""
    given: set[str] = set()
    depth = 1
    for piece in _PIECE.finditer(text, start, start + _LONGEST):
        if piece["close"]:
            depth -= 1
            if not depth:
                return given
        elif piece[0] in (b"(", b"[", b"{"):
            depth += 1
        elif depth == 1 and piece["star"]:
            return None
        elif depth == 1 and piece["name"]:
            given.add(piece["name"].decode())
    return None
