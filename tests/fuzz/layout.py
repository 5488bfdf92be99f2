"""Rewrites how a program is laid out: comments and whitespace between its tokens and lines, and nothing else."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable
from dataclasses import dataclass

from hypothesis import strategies as st

INSIDE = (
    " ",
    "\t",
    "\f ",
    "  # note\n",
    "\n",
    "\n\n\t# (note\n    ",
    " \\\n  ",
    "\n#é '\"\n",
    "  # type: ignore\n",
)
"""What may stand between two tokens in brackets."""
OUTSIDE = (" ", "  \t", "\f", " \\\n    ", "\\\n")
"""What may stand between two tokens of a line."""
BETWEEN = (
    "\n",
    "# note\n",
    "        # far in\n",
    "\t\n",
    "\f\n",
    "#:\n\n",
    "# @torch.jit.script\n",
    "# fmt: off\n",
)
"""What may stand between two lines."""
AFTER = (" ", "  # note", ";", " ;  # '", "  # noqa", "\t# torch.jit.script(x)")
"""What may stand after a line."""

_STRINGS = ("FSTRING_START", "TSTRING_START"), ("FSTRING_END", "TSTRING_END")
_OPENING, _CLOSING = (frozenset(getattr(tokenize, name, -1) for name in names) for names in _STRINGS)


@dataclass(frozen=True)
class Gap:
    """A place where something may be inserted: an offset into the text, and the choices."""

    at: int
    choices: tuple[str, ...]
    line: int


def gaps(text: str) -> list[Gap]:
    """Every place of a program, which has ``\\n`` for its line ends, where its layout may change."""
    starts = [0]
    for line in io.StringIO(text):
        starts.append(starts[-1] + len(line))
    found: list[Gap] = []
    depth = strings = 0
    first: str | None = None
    before: tokenize.TokenInfo | None = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER):
            continue
        if token.type == tokenize.COMMENT:
            before = None
            continue
        end = starts[before.end[0] - 1] + before.end[1] if before is not None else 0
        if token.type == tokenize.NEWLINE:
            if before is not None:
                no_semicolon = first == "@" or before.string in (":", ";")
                found.append(Gap(end, AFTER[:2] if no_semicolon else AFTER, token.start[0]))
            if token.string and first != "@":
                found.append(Gap(starts[token.start[0]], BETWEEN, token.start[0]))
            first = before = None
            continue
        if before is not None and not strings:
            found.append(Gap(end, INSIDE if depth else OUTSIDE, before.end[0]))
        strings += (token.type in _OPENING) - (token.type in _CLOSING)
        if token.type == tokenize.OP and not strings:
            depth += (token.string in "([{") - (token.string in ")]}")
        first = first or token.string
        before = token
    return found


def relaid(text: str, near: Iterable[int] = ()) -> st.SearchStrategy[str]:
    """The program in other layouts: a few changes anywhere, or a change in each place of the lines ``near``."""
    every = gaps(text)
    lines = {line + offset for line in near for offset in (-1, 0, 1)}
    close = [gap for gap in every if gap.line in lines] or every
    if not every:
        return st.just(text)
    few = st.lists(
        st.tuples(st.sampled_from(every) | st.sampled_from(close), _NUMBER), min_size=1, max_size=6
    )
    numbers = st.lists(_NUMBER, min_size=1, max_size=4)
    many = numbers.map(lambda drawn: [(gap, drawn[i % len(drawn)]) for i, gap in enumerate(close)])
    return (few | many).map(lambda chosen: _inserted(text, chosen))


_NUMBER = st.integers(0, 17)


def _inserted(text: str, chosen: Iterable[tuple[Gap, int]]) -> str:
    """Puts one of its choices into each gap. Fails if that made another program of it."""
    by_place = {gap.at: gap.choices[number % len(gap.choices)] for gap, number in chosen}
    result = text
    for at in sorted(by_place, reverse=True):
        result = result[:at] + by_place[at] + result[at:]
    assert ast.dump(ast.parse(result)) == ast.dump(ast.parse(text)), result
    return result
