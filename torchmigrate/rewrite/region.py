"""The part of a file that one fix rewrites as a libcst tree: as few whole lines as possible.

libcst parses at about 0.6 MB/s, so no more is parsed than the statement that changes, and of a compound statement only
its header where the body stays as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper

from torchmigrate.model.findings import NoFix, Span
from torchmigrate.text.source import Source

Node = TypeVar("Node", bound=cst.CSTNode)

SUITE = b"if 1:\n"
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
        return self.before.startswith(SUITE)

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
