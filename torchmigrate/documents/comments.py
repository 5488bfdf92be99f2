"""Comments that take a pin as meant: "lock torch at 2.0", "pinned because …", "do not upgrade"."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

from torchmigrate.documents.references import Environment
from torchmigrate.documents.upgrade import COMPANIONS, TORCH
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort

_HOLDS = re.compile(
    r"\b(?:(?:lock|pin|hold|freez|keep)(?:e?s|e|n?ed|n?ing)?|held|kept|frozen|stick|stay|cap(?:ped)?)\b"
    r"|\b(?:in)?compat\w*\b(?!\s+(?:\w+\s+){0,2}versions?)"
    r"|\b(?:do(?:\s+not|n.{1,3}t)|never|(?:must|should|can)\s*(?:not|n.{1,3}t)|avoid)\s+(?:\w+\s+){0,2}?"
    r"(?:upgrad|updat|bump|chang|rais|touch|mov)\w*"
    r"|\b(?:newer|later|higher|above|beyond)\b.{0,60}\b(?:break|broke|fail|crash|not\s+work|doesn.{1,3}t)\w*"
    r"|\blast\s+(?:version|release)\b",
    re.IGNORECASE,
)
"""What a comment says of a version that is to stay."""
_SPEAKS = re.compile(
    r"torch|cuda|\bcu1\d\d|driver|\d\.\d|\b(?:because|due|until|since|otherwise|issues?|bugs?|needs?|requires?|breaks?|this)\b|://",
    re.IGNORECASE,
)
"""What a comment above a list has to name for it to be more than the title of the list."""
_COMMENT = re.compile(r"[ \t]*(?:#|//|;|::|rem\b)(?P<text>.*)", re.IGNORECASE)
_BESIDE = re.compile(r"(?:[ \t]|^)(?:#|//)[ \t]*(?P<text>[^\"'\r\n]*)$")


def holding(view: str, environment: Environment, lacks: Callable[[str], object]) -> str:
    """The comment that says of a pin, an index or an image in an environment that it is meant; empty if none does.

    It stands at the end of the line, or directly above what it speaks of; ``view`` is the text of the file. One that
    names a build that the target ``lacks`` (``cu121``) labels what is chosen by it, and would no longer be true.
    """
    lines = [line.rstrip("\r") for line in view.split("\n")]
    starts = [0, *(found.end() for found in re.finditer("\n", view))]
    for span in dict.fromkeys(_places(environment)):
        number = _line(starts, span.start)
        if number >= len(lines):
            continue
        beside = _BESIDE.search(lines[number])
        if beside and (said := _HOLDS.search(beside["text"]) or _labels(beside["text"], lacks)):
            return _excerpt(beside["text"], said)
        above = _above(lines, number)
        if named := _labels(above, lacks):
            return _excerpt(above, named)
        if (said := _HOLDS.search(above)) and _SPEAKS.search(above):
            return _excerpt(above, said)
    return ""


_BUILD = re.compile(r"\bcu(1[0-3]\d)\b|\bcuda\W?(1\d)\.(\d)", re.IGNORECASE)
"""How comments name builds: ``cu121``, ``CUDA 12.1``."""


def _labels(text: str, lacks: Callable[[str], object]) -> re.Match[str] | None:
    """The first build that a comment names and that would be gone."""
    return next(
        (one for one in _BUILD.finditer(text) if lacks("cu" + "".join(filter(None, one.groups())))), None
    )


def _excerpt(text: str, said: re.Match[str]) -> str:
    """What a reason for no fix shows of a comment: some 80 characters with what was found."""
    start = 0 if said.end() <= 60 else text.rfind(" ", 0, said.start() - 20) + 1
    # The view has one character for each byte.
    return text[start:].strip()[:80].encode("latin-1").decode("utf-8", "ignore")


def _places(environment: Environment) -> list[Span]:
    """Where it is written which torch there is: the requirements, images and indexes, and the variables in them."""
    found = [
        *environment.of(Sort.REQUIREMENT, *TORCH, *COMPANIONS),
        *environment.of(Sort.IMAGE),
        *environment.of(Sort.INDEX),
    ]
    return [span for one in found for span in (one.span, *(piece.span for piece in one.value.pieces))]


def _line(starts: list[int], at: int) -> int:
    return bisect_right(starts, at) - 1


def _above(lines: list[str], number: int) -> str:
    """The comment directly above a line, or above the first line of the command that goes on in it."""
    before = lines[:number][::-1]
    while before and before[0].rstrip().endswith(("\\", "^")) and not _COMMENT.match(before[0]):
        before = before[1:]
    block: list[str] = []
    for line in before:
        comment = _COMMENT.match(line)
        if comment is None:
            break
        block.insert(0, comment["text"].strip(" #/"))
    return " ".join(block)
