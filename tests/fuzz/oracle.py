"""Judges what fixing changed, by the texts and the edits alone.

A node of the syntax tree is *cut* by an edit that covers it or one of its ends. The smallest node around an edit is a
*hole*. Both may become anything. Every other node must be there afterwards, at the place to which the edits moved it:
of the same type, with the same names and constants, below the same statement. And none may have appeared outside of
what the edits brought. As the texts of these nodes are the same, so is what they mean.

White space and comments at the ends of an edit's text are blanks, not code: they make nothing free, and a node beside
them may begin behind them or end before them. Whether all comments are left is asked of the whole file
(`lost_comment`), for they may change places.
"""

from __future__ import annotations

import ast
import builtins
import io
import re
import symtable
import sys
import tokenize
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product, takewhile
from typing import Any

from torchmigrate.model.findings import Edit

_LINE = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_LINE_END = re.compile(r"\r\n|\r|\n")
_OWN = re.compile(r"\s*#\s*torchmigrate:.*?(?=\s#|$)")
_NO_CODE = (
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_OPERATORS = (ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


class Violation(AssertionError):
    """Something that the tool must not do."""


@dataclass(frozen=True)
class Change:
    """What ``[start, end)`` of the old text became is ``[to, to_end)`` of the new one."""

    start: int
    end: int
    to: int
    to_end: int
    is_code: bool
    """Whether more than blanks come or go."""
    head: int = 0
    """How many bytes both texts begin with."""
    tail: int = 0
    """How many bytes both texts end with."""
    closing: int = 0
    """How many blanks and closing parentheses the old text ends with."""
    to_closing: int = 0
    """How many the new one ends with."""

    @property
    def growth(self) -> int:
        """By how much what is behind it moves."""
        return (self.to_end - self.to) - (self.end - self.start)

    @property
    def back(self) -> Change:
        """The same, from the new text to the old one."""
        there = replace(self, start=self.to, end=self.to_end, closing=self.to_closing)
        return replace(there, to=self.start, to_end=self.end, to_closing=self.closing)


@dataclass(eq=False, slots=True)
class Node:
    """A node with a position. Of a statement with blocks it is the head only."""

    start: int
    end: int
    parent: Node | None
    """Of a statement: the one that it stands in."""
    block: str
    """The block of the parent that it stands in."""
    is_statement: bool
    is_head: bool = False
    label: tuple[object, ...] = ()
    """Its type, with names, constants and operators."""


def compare(before: bytes, edits: Sequence[Edit], after: bytes) -> None:
    """Raises Violation if ``after`` differs from ``before`` in more than the edits say."""
    whole = changes(before, edits, after)
    try:
        old, new = Tree(before), Tree(after)
        code = Code(before), Code(after)
    except SyntaxError as error:
        raise Violation(f"the result does not parse: {error}") from None
    made: list[Change] = []
    for number, change in enumerate(whole):
        low = made[-1].end if made else 0
        high = whole[number + 1].start if number + 1 < len(whole) else len(before)
        made += parted(change, before, after, code, low, high)
    back = [change.back for change in made]
    old.mark(made)
    new.mark(back)
    old.expect_in(new, made, "is gone")
    new.expect_in(old, back, "is new")


def changes(before: bytes, edits: Sequence[Edit], after: bytes) -> list[Change]:
    """Where each edit's text is in the result. Raises Violation if a byte outside of the edits differs."""
    in_order = sorted(edits, key=lambda edit: (edit.start, edit.end))

    def placed(number: int, done: int, at: int) -> list[Change] | None:
        if number == len(in_order):
            return [] if after[at:] == before[done:] else None
        edit = in_order[number]
        kept = before[done : edit.start]
        if edit.start < done or not after.startswith(kept, at):
            return None
        to = at + len(kept)
        for text in {_LINE_END.sub(end, edit.text).encode() for end in ("\n", "\r\n", "\r")}:
            if after.startswith(text, to):
                rest = placed(number + 1, edit.end, to + len(text))
                if rest is not None:
                    return [Change(edit.start, edit.end, to, to + len(text), is_code=True), *rest]
        return None

    found = placed(0, 0, 0)
    if found is None:
        raise Violation("the text changed, and no edit says so")
    return found


def parted(
    change: Change, before: bytes, after: bytes, code: Sequence[Code], low: int, high: int
) -> Iterator[Change]:
    """The change of code, and those of the blanks around; ``code``: the code of the old text and of the new one.

    Blanks before ``low`` and behind ``high``, in the old text, belong to the changes beside this one.
    """
    blank = min(
        code[0].blank_before(change.start), code[1].blank_before(change.to), max(change.start - low, 0)
    )
    blank_end = min(
        code[0].blank_behind(change.end), code[1].blank_behind(change.to_end), max(high - change.end, 0)
    )
    start, end, to, to_end = (
        change.start - blank,
        change.end + blank_end,
        change.to - blank,
        change.to_end + blank_end,
    )
    first, last = code[0].inside(start, end)
    to_first, to_last = code[1].inside(to, to_end)
    old, new = before[first:last], after[to_first:to_last]
    head, tail = _common(old, new), _common(old[::-1], new[::-1])
    closing, to_closing = (len(text) - len(text.rstrip(b") \n")) for text in (old, new))
    parts = (
        Change(start, first, to, to_first, is_code=False),
        Change(first, last, to_first, to_last, True, head, tail, closing, to_closing),
        Change(last, end, to_last, to_end, is_code=False),
    )
    yield from (part for part in parts if part.start < part.end or part.to < part.to_end)


def _common(one: bytes, other: bytes) -> int:
    """How many bytes two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


class Code:
    """Where the tokens of a program are, in bytes, but for comments and those of its layout."""

    def __init__(self, text: bytes) -> None:
        starts = [match.start() for match in _LINE.finditer(text)]
        lines = [match[0].decode() for match in _LINE.finditer(text)]

        def offset(line: int, column: int) -> int:
            return starts[line - 1] + len(lines[line - 1][:column].encode())

        tokens = [token for token in _tokens(text.decode()) if token.type not in _NO_CODE]
        self._starts = [offset(*token.start) for token in tokens]
        self._ends = [offset(*token.end) for token in tokens]

    def inside(self, start: int, end: int) -> tuple[int, int]:
        """The span without the blanks at its ends; if there is nothing else, what is left lies at its end."""
        first, last = bisect_right(self._ends, start), bisect_left(self._starts, end)
        if first >= last:
            return end, end
        return max(self._starts[first], start), min(self._ends[last - 1], end)

    def blank_before(self, offset: int) -> int:
        """How many bytes before an offset are no code."""
        before = bisect_left(self._starts, offset)
        return max(offset - self._ends[before - 1], 0) if before else offset

    def blank_behind(self, offset: int) -> int:
        """How many bytes behind an offset are no code."""
        behind = bisect_right(self._ends, offset)
        return max(self._starts[behind] - offset, 0) if behind < len(self._starts) else 0


class Tree:
    """The nodes of a text, and which of them edits leave alone. Raises SyntaxError if the text does not parse."""

    def __init__(self, text: bytes) -> None:
        self._starts = [match.start() for match in _LINE.finditer(text)]
        self.nodes: list[Node] = []
        self._free: set[Node] = set()
        self._collect(ast.parse(text.decode()), None, "", [])

    def mark(self, made: Sequence[Change]) -> None:
        """Notes which nodes may become anything because of these changes."""
        made = [change for change in made if change.is_code]
        self._free = {node for node in self.nodes if any(_cuts(change, node) for change in made)}
        for change in made:
            around = [n for n in self.nodes if n.start <= change.start and change.end <= n.end]
            least = min((node.end - node.start for node in around), default=0)
            self._free.update(node for node in around if node.end - node.start == least)

    def expect_in(self, other: Tree, made: Sequence[Change], what: str) -> None:
        """Raises Violation unless every node that is not free is in ``other``, where the changes moved it."""
        there = defaultdict(list)
        for node in other.nodes:
            there[node.start, not node.is_head and node.end, node.label].append(node)
        found: dict[Node, list[Node]] = {}
        for node in self.nodes:
            if node not in self._free:
                # Where a head ends depends on the parentheses around its last expression.
                places = product(
                    _moved(node.start, made), [False] if node.is_head else _moved(node.end, made)
                )
                found[node] = [match for place in places for match in there.get((*place, node.label), ())]
        pairs = {
            (node, match) for node, matches in found.items() for match in matches if match not in other._free
        }
        own, others = {node for node, _ in pairs}, {match for _, match in pairs}
        for node, matches in found.items():
            above = _above(node, own)
            if not any(_is_below(node, above, match, _above(match, others), pairs) for match in matches):
                raise Violation(f"{node.label} at byte {node.start} {what}, and no edit says so")

    def _collect(self, node: Any, parent: Node | None, block: str, label: list[object]) -> int:
        """Adds the nodes below one, and to ``label`` what it says itself. Returns where its head ends."""
        end = 0
        label.append(type(node).__name__)
        for name, value in ast.iter_fields(node):
            is_block = name in _BLOCKS and isinstance(value, list)
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST):
                    label.append((name, repr(child)))
                elif isinstance(child, _OPERATORS):
                    label.append(type(child).__name__)
                elif not hasattr(child, "end_col_offset"):
                    inner = self._collect(child, parent, block, [])
                    end = end if is_block else max(end, inner)
                elif not (isinstance(node, ast.JoinedStr) and sys.version_info < (3, 12)):
                    last = self._add(child, parent, name if is_block else block)
                    end = end if is_block else max(end, last)
        return end

    def _add(self, node: Any, parent: Node | None, block: str) -> int:
        start = self._starts[node.lineno - 1] + node.col_offset
        end: int = self._starts[node.end_lineno - 1] + node.end_col_offset
        is_statement = isinstance(node, (ast.stmt, ast.excepthandler))
        made = Node(start, end, parent if is_statement else None, block, is_statement)
        self.nodes.append(made)
        label: list[object] = []
        head = self._collect(node, made if is_statement else parent, block, label)
        made.label = tuple(label)
        if any(isinstance(getattr(node, name, None), list) for name in _BLOCKS):
            made.end, made.is_head = max(head, start + 1), True
        return end


def _above(node: Node, which: set[Node]) -> Node | None:
    """The innermost statement around a node that is one of these."""
    parent = node.parent
    while parent is not None and parent not in which:
        parent = parent.parent
    return parent


def _is_below(
    node: Node, above: Node | None, match: Node, its: Node | None, pairs: set[tuple[Node, Node]]
) -> bool:
    """Whether a node and its match stand below statements that match, in the same block."""
    if above is None or its is None:
        return above is its
    moved = above is not node.parent or its is not match.parent
    return (above, its) in pairs and (moved or node.block == match.block)


def _cuts(change: Change, node: Node) -> bool:
    """Whether a change covers an end of a node, or all of it."""
    inside = node.start <= change.start and change.end <= node.end
    whole = change.start == node.start and change.end == node.end
    return change.start < node.end and node.start < change.end and (whole or not inside)


def _moved(at: int, made: Sequence[Change]) -> set[int]:
    """Where changes move an end of a node. What they put right there may go before it or after it.

    Of blanks, and of a change that leaves nothing, both ends come to lie at one place. What the old and the new text of a change
    begin or end with may be the same code. Parentheses and blanks at the end of a change may be around more than what it changes.
    """
    gone = [{change.start, change.end} for change in made if not change.is_code or change.to == change.to_end]
    same = {at}
    while more := {end for ends in gone if not ends.isdisjoint(same) for end in ends} - same:
        same |= more
    places = set()
    for one in same:
        place = one + sum(change.growth for change in made if change.start < one >= change.end)
        places.add(place)
        for change in made:
            if change.start == change.end == one:
                place += change.growth
                places.add(place)
    for change in made:
        if change.end - at in range(change.closing + 1):
            places.update(range(change.to_end - change.to_closing, change.to_end + 1))
        if at - change.start in range(1, change.head + 1):
            places.add(change.to + at - change.start)
        if change.end - at in range(1, change.tail + 1):
            places.add(change.to_end - (change.end - at))
    return places


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    return tokenize.generate_tokens(io.StringIO(_LINE_END.sub("\n", text)).readline)


def comments(text: str) -> Iterator[str]:
    """The comments of a program, without what they say to the tool itself."""
    for token in _tokens(text):
        if token.type == tokenize.COMMENT and (comment := _OWN.sub("", token.string).strip()):
            yield comment


def lost_comment(before: str, after: str) -> str | None:
    """The first comment that is not there afterwards, in whatever order."""
    left = Counter(comments(after))
    for comment in comments(before):
        if not left[comment]:
            return comment
        left[comment] -= 1
    return None


def unbound(text: str) -> set[str]:
    """The global names that a program reads and nothing binds, builtins aside. Raises SyntaxError."""
    module = symtable.symtable(text, "case.py", "exec")
    bound: set[str] = set()
    read: set[str] = set()
    tables = [module]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            if table is module or symbol.is_global():
                if symbol.is_assigned() or symbol.is_imported():
                    bound.add(symbol.get_name())
                if symbol.is_referenced():
                    read.add(symbol.get_name())
    return read - bound - set(vars(builtins))


def imports(text: str) -> list[range]:
    """Where the import statements of a program are, in bytes."""
    data = text.encode()
    starts = [match.start() for match in _LINE.finditer(data)]
    return [
        range(
            starts[node.lineno - 1] + node.col_offset,
            starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0),
        )
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Import, ast.ImportFrom))
    ]
