"""The lines of a file that a fix rewrites as one libcst tree: as few whole lines as possible, of long lines a part.

libcst parses at about 0.6 MB/s, so only the statement that changes is parsed, and of a compound statement only
its header if the body stays as it is.
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
from torchmigrate.text.source_text import SourceText

Node = TypeVar("Node", bound=cst.CSTNode)

SUITE = b"if 1:\n"
"""The header put before indented lines, so that they parse."""

PASS = b"pass\n"
"""The statement put after the lines of a region, so that they parse and trailing comments belong to their block."""


@dataclass(frozen=True)
class Region:
    """Whole lines of a file (or a part of one), parsed as a libcst module between ``before`` and ``behind``, which make them parse."""

    source: SourceText
    span: Span
    before: bytes = b""
    behind: bytes = b""
    gap: int = 0
    """The number of blank lines directly above the region; a large one where it begins its block or the file."""
    is_part: bool = False
    """Whether the region is a part of a line, so that nothing is known of the line's length and indentation."""

    @cached_property
    def text(self) -> bytes:
        """The bytes that libcst parses: the lines between ``before`` and ``behind``."""
        return self.before + self.source.text[self.span.start : self.span.end] + self.behind

    @cached_property
    def module(self) -> cst.Module:
        """The libcst tree. Raises NoFix if libcst cannot parse the lines, or does not write them back unchanged."""
        try:
            module = cst.parse_module(self.text.decode())
            same = module.code.encode() == self.text
        except (cst.ParserSyntaxError, RecursionError, ValueError, AttributeError):
            same = False  # AttributeError: libcst's own check of a line break after `async` fails
        if not same:
            line = self.source.line_of(self.span.start)
            raise NoFix(f"libcst cannot parse the statement on line {line}")
        return module

    @cached_property
    def indent_unit(self) -> str:
        """The white space by which the file indents a block, taken from its first one."""
        for outer in ast.walk(self.source.syntax_tree):
            first = getattr(outer, "body", None)
            if isinstance(outer, ast.stmt) and isinstance(first, list) and first[0].lineno > outer.lineno:
                lines = self.source.get_lines(self.source.span_of(outer))
                around, inside = (
                    line[: len(line) - len(line.lstrip())]
                    for line in (lines[0], lines[first[0].lineno - outer.lineno])
                )
                return inside.removeprefix(around)
        return "    "

    @property
    def statement_block(self) -> cst.Module | cst.IndentedBlock:
        """The libcst node whose body holds the statements of the region."""
        if not self.before.startswith(SUITE):
            return self.module
        wrapper = cst.ensure_type(self.module.body[0], cst.If)
        return cst.ensure_type(wrapper.body, cst.IndentedBlock)

    @cached_property
    def node_spans(self) -> Mapping[cst.CSTNode, Span]:
        """The byte span of each node in ``text``, without the parentheses around the node."""
        return collect_spans(self.module)

    @cached_property
    def node_parents(self) -> Mapping[cst.CSTNode, cst.CSTNode]:
        """The parent of each libcst node."""
        return collect_parents(self.module)

    @cached_property
    def _nodes_by_span(self) -> Mapping[Span, list[cst.CSTNode]]:
        found: dict[Span, list[cst.CSTNode]] = {}
        for node, span in self.node_spans.items():
            found.setdefault(span, []).append(node)
        return found

    def contains_node(self, node: ast.AST) -> bool:
        """Return whether an `ast` node of the file lies in the region."""
        span = self.source.span_of(node)
        return self.span.start <= span.start and span.end <= self.span.end

    def find_expression(self, node: ast.expr) -> cst.BaseExpression:
        """Return the libcst node of an `ast` expression. Raises NoFix if there is none."""
        return self.find_node(node, cst.BaseExpression)  # type: ignore[type-abstract]

    def find_argument(self, node: ast.expr | ast.keyword) -> cst.Arg:
        """Return the libcst node of an `ast` argument. Raises NoFix if there is none."""
        if isinstance(node, (ast.keyword, ast.Starred)):
            return self.find_node(node, cst.Arg)
        return cst.ensure_type(self.node_parents[self.find_expression(node)], cst.Arg)

    def find_parameter(self, node: ast.arg) -> cst.Param:
        """Return the libcst node of an `ast` parameter. Raises NoFix if there is none."""
        start = self.source.span_of(node).start + len(self.before) - self.span.start
        for found in self._nodes_by_span.get(Span(start, start + len(node.arg.encode())), ()):
            if isinstance(found, cst.Param):
                return found
        raise NoFix(f"libcst finds no parameter `{node.arg}` on line {node.lineno}")

    def find_node(self, node: ast.AST, kind: type[Node]) -> Node:
        """Return the libcst node of class ``kind`` for an `ast` node of the file. Raises NoFix if there is none."""
        shift = len(self.before) - self.span.start
        start, end = (offset + shift for offset in self.source.span_of(node))
        while start < end:
            for found in self._nodes_by_span.get(Span(start, end), ()):
                if isinstance(found, kind):
                    return found
            inner = self.text[start:end]
            if not (inner.startswith(b"(") and inner.endswith(b")")):
                break
            # The span in `ast` includes the parentheses of a tuple, and those of a call around a generator.
            start = end - len(inner[1:].lstrip())
            end = start + len(self.text[start : end - 1].rstrip())
        raise NoFix(f"libcst finds no {kind.__name__} on line {getattr(node, 'lineno', '?')}")

    def find_statement(self, node: ast.stmt) -> cst.CSTNode:
        """Return the libcst node of a statement: a compound one, or a small one in its line. Raises NoFix."""
        shift = len(self.before) - self.span.start
        start = self.source.span_of(node).start + shift
        kinds = (cst.BaseCompoundStatement, cst.BaseSmallStatement)
        found = [n for n, span in self.node_spans.items() if span.start == start and isinstance(n, kinds)]
        if not found:
            raise NoFix(f"libcst finds no statement on line {node.lineno}")
        return max(found, key=lambda n: self.node_spans[n].end)

    def iter_ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield a libcst node and all that enclose it, innermost first."""
        reached: cst.CSTNode | None = node
        while reached is not None:
            yield reached
            reached = self.node_parents.get(reached)


def collect_parents(module: cst.Module) -> dict[cst.CSTNode, cst.CSTNode]:
    """Return the parent of each node of a libcst module."""
    found: dict[cst.CSTNode, cst.CSTNode] = {}
    nodes: list[cst.CSTNode] = [module]
    for node in nodes:  # the list grows while it is walked
        for child in node.children:
            found[child] = node
            nodes.append(child)
    return found


def collect_spans(module: cst.Module) -> dict[cst.CSTNode, Span]:
    """Return the byte span of each node in the code of a libcst module."""
    wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
    found = wrapper.resolve(ByteSpanPositionProvider)
    return {node: Span(place.start, place.start + place.length) for node, place in found.items()}
