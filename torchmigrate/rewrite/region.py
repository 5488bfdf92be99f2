"""The part of a file that one fix rewrites as a libcst tree: as few whole lines as possible.

libcst parses at about 0.6 MB/s, so no more is parsed than the statement that changes, and of a compound statement only
its header where the body stays as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper

from torchmigrate.model.findings import NoFix, Span
from torchmigrate.text.source import Source

from .statements import Stand, Statements

Node = TypeVar("Node", bound=cst.CSTNode)

_SUITE = b"if 1:\n"
"""What is put before lines that are indented."""

PASS = b"pass\n"
"""What is put behind the lines of a region: so that they parse, and that comments belong to the block they stand in."""


@dataclass(frozen=True)
class Region:
    """Lines of a file, as a libcst module; ``before`` and ``behind`` are put around them so that they parse."""

    source: Source
    span: Span
    before: bytes = b""
    behind: bytes = b""
    gap: int = 0
    """How many blank lines stand above."""

    @cached_property
    def text(self) -> bytes:
        """What is parsed."""
        return self.before + self.source.text[self.span.start : self.span.end] + self.behind

    @cached_property
    def module(self) -> cst.Module:
        """The tree. Raises NoFix where libcst cannot parse what Python can, or reads it in another way."""
        try:
            module = cst.parse_module(self.text.decode())
            same = module.code.encode() == self.text
        except (cst.ParserSyntaxError, RecursionError, ValueError, AttributeError):
            same = False  # an AttributeError: its own check of a line break behind `async` fails
        if not same:
            line = self.source.line_of(self.span.start)
            raise NoFix(f"libcst, which rewrites, cannot read the statement in line {line}")
        return module

    @property
    def is_indented(self) -> bool:
        """Whether the lines are those of an indented block."""
        return self.before.startswith(_SUITE)

    @cached_property
    def unit(self) -> str:
        """How far the first block of the file is indented within what is around."""
        for outer in ast.walk(self.source.tree):
            first = getattr(outer, "body", None)
            if isinstance(outer, ast.stmt) and isinstance(first, list) and first[0].lineno > outer.lineno:
                lines = self.source.lines(self.source.span(outer))
                around, inside = (
                    line[: len(line) - len(line.lstrip())]
                    for line in (lines[0], lines[first[0].lineno - outer.lineno])
                )
                return inside.removeprefix(around)
        return "    "

    @property
    def block(self) -> cst.Module | cst.IndentedBlock:
        """The node whose body is the statements of the region."""
        if not self.is_indented:
            return self.module
        wrapper = cst.ensure_type(self.module.body[0], cst.If)
        return cst.ensure_type(wrapper.body, cst.IndentedBlock)

    @cached_property
    def spans(self) -> Mapping[cst.CSTNode, Span]:
        """Where each node lies in ``text``, without its own parentheses."""
        return spans_of(self.module)

    @cached_property
    def parents(self) -> Mapping[cst.CSTNode, cst.CSTNode]:
        """The parent of each node."""
        return parents_of(self.module)

    @cached_property
    def _by_span(self) -> Mapping[Span, list[cst.CSTNode]]:
        found: dict[Span, list[cst.CSTNode]] = {}
        for node, span in self.spans.items():
            found.setdefault(span, []).append(node)
        return found

    def holds(self, node: ast.AST) -> bool:
        """Whether a node of the file's syntax tree lies in these lines."""
        span = self.source.span(node)
        return self.span.start <= span.start and span.end <= self.span.end

    def expression(self, node: ast.expr) -> cst.BaseExpression:
        """The libcst node of an expression. Raises NoFix if there is none."""
        return self.find(node, cst.BaseExpression)  # type: ignore[type-abstract]

    def argument(self, node: ast.expr | ast.keyword) -> cst.Arg:
        """The libcst node of an argument. Raises NoFix if there is none."""
        if isinstance(node, (ast.keyword, ast.Starred)):
            return self.find(node, cst.Arg)
        return cst.ensure_type(self.parents[self.expression(node)], cst.Arg)

    def parameter(self, node: ast.arg) -> cst.Param:
        """The libcst node of a parameter. Raises NoFix if there is none."""
        start = self.source.span(node).start + len(self.before) - self.span.start
        for found in self._by_span.get(Span(start, start + len(node.arg.encode())), ()):
            if isinstance(found, cst.Param):
                return found
        raise NoFix(f"libcst sees no parameter `{node.arg}` in line {node.lineno}")

    def find(self, node: ast.AST, kind: type[Node]) -> Node:
        """The libcst node of a kind for a node of the file's syntax tree. Raises NoFix if there is none."""
        shift = len(self.before) - self.span.start
        start, end = (offset + shift for offset in self.source.span(node))
        while start < end:
            for found in self._by_span.get(Span(start, end), ()):
                if isinstance(found, kind):
                    return found
            inner = self.text[start:end]
            if not (inner.startswith(b"(") and inner.endswith(b")")):
                break
            # `ast` counts the parentheses of a tuple, and those of a call around a generator.
            start = end - len(inner[1:].lstrip())
            end = start + len(self.text[start : end - 1].rstrip())
        raise NoFix(f"libcst sees no {kind.__name__} in line {getattr(node, 'lineno', '?')}")

    def statement(self, node: ast.stmt) -> cst.CSTNode:
        """The libcst node of a statement: a compound statement, or a small one inside its line."""
        shift = len(self.before) - self.span.start
        start = self.source.span(node).start + shift
        kinds = (cst.BaseCompoundStatement, cst.BaseSmallStatement)
        found = [n for n, span in self.spans.items() if span.start == start and isinstance(n, kinds)]
        if not found:
            raise NoFix(f"libcst sees no statement in line {node.lineno}")
        return max(found, key=lambda n: self.spans[n].end)

    def outwards(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """A node and those around it, innermost first."""
        reached: cst.CSTNode | None = node
        while reached is not None:
            yield reached
            reached = self.parents.get(reached)


def parents_of(module: cst.Module) -> dict[cst.CSTNode, cst.CSTNode]:
    """The parent of each node of a module."""
    found: dict[cst.CSTNode, cst.CSTNode] = {}
    nodes: list[cst.CSTNode] = [module]
    for node in nodes:  # which grows
        for child in node.children:
            found[child] = node
            nodes.append(child)
    return found


def spans_of(module: cst.Module) -> dict[cst.CSTNode, Span]:
    """Where each node of a module lies in its code, in bytes."""
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    found = wrapper.resolve(ByteSpanPositionProvider)
    return {node: Span(place.start, place.start + place.length) for node, place in found.items()}


class Regions:
    """Chooses the region for each statement of a file that changes, parsed once for all changes that it sees."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.statements = Statements(source)
        self._made: dict[tuple[Span, bytes, bytes], Region] = {}

    def header(self, stand: Stand) -> Region:
        """The header of a compound statement (with its decorators), or the lines of a simple one."""
        statement, source = stand.statement, self.source
        end = self.statements.header_end(statement) if _has_block(statement) else None
        if end is None:
            return self.whole(stand)
        start = self.statements.start(statement)
        line = _line_start(source, start)
        if source.text.startswith(b"elif", start):
            if b"#" in source.text[start:end]:  # it may have to move before the whole chain
                return self.whole(stand)
            return self._region(Span(start + len(b"el"), end), b"", b" " + PASS)
        return self._region(Span(line, end), self._prefix(line), b" " + PASS)

    def whole(self, stand: Stand) -> Region:
        """All lines of a statement, and of those that share them."""
        return self._block_lines(self.lines(stand))

    def slot(self, stand: Stand) -> Region:
        """The lines of a statement that may go, with the comments that end its block and the blank lines behind it."""
        start, end = self.lines(stand)
        margin = len(self._indent(start))
        last = blank_end = end
        for line in self._following(end):
            content = self.source.text[line.start : line.end]
            if content.strip():
                if not (content.lstrip().startswith(b"#") and len(self._indent(line.start)) > margin):
                    break
                last = line.end
            blank_end = line.end
        for line in self._following(last):
            if line.end > blank_end or self.source.text[line.start : line.end].strip():
                break
            last = line.end
        above = self.source.text[:start].splitlines()
        gap = next((i for i, line in enumerate(reversed(above)) if line.strip()), len(self.source.text))
        return self._block_lines(Span(start, last), gap)

    def block(self, stand: Stand) -> Region:
        """The lines of all statements of a block."""
        first, last = (self.lines(Stand(stand.block[i], stand.block, stand.parent)) for i in (0, -1))
        return self._block_lines(Span(first.start, last.end))

    def several(self, stands: Sequence[Stand]) -> tuple[Region, Stand]:
        """The lines from the first to the last of several statements of one block, and one of these."""
        first, *_, last = (self.on_own_lines(stand) for stand in (stands[0], stands[-1]))
        if first.block is not last.block:
            raise NoFix(f"the statement in line {stands[-1].statement.lineno} shares its line with others")
        return self._block_lines(Span(self.lines(first).start, self.slot(last).span.end)), last

    def _following(self, offset: int) -> Iterator[Span]:
        """The lines from an offset on; in a notebook those of its cell."""
        while offset < len(self.source.text):
            line = self.source.whole_line(offset)
            if line.start < offset or line.end <= offset:
                return
            yield line
            offset = line.end

    def _indent(self, line: int) -> bytes:
        """The white space that the line begins with."""
        text = self.source.text
        return text[
            line : line + len(text[line : line + 4096]) - len(text[line : line + 4096].lstrip(b" \t\f"))
        ]

    def _block_lines(self, span: Span, gap: int = 0) -> Region:
        ends = self.source.text[span.start : span.end].endswith((b"\n", b"\r"))
        behind = (b"" if ends else b"\n") + self._indent(span.start) + PASS
        return self._region(span, self._prefix(span.start), behind, gap)

    def opening(self, owner: ast.ClassDef) -> Region:
        """The header of a class, its docstring, and what stands before its first statement."""
        first = owner.body[first_after_docstring(owner)]
        start = _line_start(self.source, self.statements.start(self.statements.of(owner).statement))
        at = self.statements.start(first)
        return self._region(Span(start, at), self._prefix(start), PASS)

    def lines(self, stand: Stand) -> Span:
        """The whole lines of a statement and of all that share a line with it."""
        stand = self.on_own_lines(stand)
        block, low = stand.block, stand.index
        high = low
        start = _line_start(self.source, self.statements.start(block[low]))
        while low and (
            self.source.span(block[low - 1]).end > start or self._is_joined(block[low - 1], block[low])
        ):
            low -= 1
            start = _line_start(self.source, self.statements.start(block[low]))
        end = self.source.whole_line(max(self.source.span(block[high]).end - 1, 0)).end
        while high + 1 < len(block) and (
            self.statements.start(block[high + 1]) < end or self._is_joined(block[high], block[high + 1])
        ):
            high += 1
            end = self.source.whole_line(max(self.source.span(block[high]).end - 1, 0)).end
        return Span(start, end)

    def _is_joined(self, one: ast.stmt, other: ast.stmt) -> bool:
        """Whether a semicolon stands between two statements, with line continuations beside it."""
        between = self.source.text[self.source.span(one).end : self.statements.start(other)]
        return between.lstrip(b" \t\f\\\r\n").startswith(b";")

    def on_own_lines(self, stand: Stand) -> Stand:
        """The statement, or the one around it that begins a line: ``if x: f()``, ``elif``."""
        while stand.parent is not None:
            first = stand.block[0]
            start = self.statements.start(first)
            before = self.source.text[_line_start(self.source, start) : start]
            is_elif = self.source.text.startswith(b"elif", start) and isinstance(first, ast.If)
            if not before.strip() and not is_elif:
                break
            stand = stand.parent
        return stand

    def _prefix(self, start: int) -> bytes:
        return _SUITE if self.source.text[start : start + 1] in (b" ", b"\t", b"\f") else b""

    def _region(self, span: Span, before: bytes, behind: bytes = b"", gap: int = 0) -> Region:
        key = (span, before, behind)
        if key not in self._made:
            self._made[key] = Region(self.source, span, before, behind, gap)
        return self._made[key]


def first_after_docstring(owner: ast.ClassDef) -> int:
    """Which statement of a class is the first behind its docstring."""
    return 1 if ast.get_docstring(owner, clean=False) is not None and len(owner.body) > 1 else 0


def _has_block(statement: ast.stmt) -> bool:
    return isinstance(getattr(statement, "body", None), list)


def _line_start(source: Source, offset: int) -> int:
    return source.line_starts[source.line_of(max(offset, 0)) - 1] if source.text else 0
