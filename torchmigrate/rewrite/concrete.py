"""One statement as a libcst tree, with the byte offsets that the rest of the tool speaks in.

libcst parses at about 0.6 MB/s, so only the smallest statement is parsed that stands on lines of its own.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, CodeSpan, MetadataWrapper

from torchmigrate.model.findings import Span
from torchmigrate.text.source import Source

Node = TypeVar("Node", bound=cst.CSTNode)


class NoConcreteTree(Exception):
    """libcst cannot parse the statement, although Python can."""


@dataclass(frozen=True)
class Concrete:
    """A libcst module that holds one statement of a file."""

    module: cst.Module
    spans: Mapping[cst.CSTNode, CodeSpan]
    shift: int
    """What to add to an offset in ``module`` to have one in the file."""

    @classmethod
    def of(cls, source: Source, statement: ast.stmt) -> Concrete:
        """Parses a statement that begins its line. Raises NoConcreteTree."""
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
        start = source.offset(first, 0)
        end_line = statement.end_lineno or first
        end = source.line_starts[end_line] if end_line < len(source.line_starts) else len(source.text)
        text = source.text[start:end]
        prefix = b"if 1:\n" if text[:1] in (b" ", b"\t") else b""
        try:
            module = cst.parse_module((prefix + text).decode())
        except (cst.ParserSyntaxError, RecursionError) as error:
            raise NoConcreteTree(str(error)) from error
        wrapper = MetadataWrapper(module, unsafe_skip_copy=True)
        return cls(module, wrapper.resolve(ByteSpanPositionProvider), start - len(prefix))

    def span(self, node: cst.CSTNode) -> Span:
        """Where a node lies in the file, without its own parentheses."""
        place = self.spans[node]
        return Span(place.start + self.shift, place.start + place.length + self.shift)

    def at(self, span: Span, kind: type[Node]) -> Node:
        """The node of a type at exactly this span of the file. Raises KeyError if there is none."""
        for node in self.spans:
            if isinstance(node, kind) and self.span(node) == span:
                return node
        raise KeyError(f"no {kind.__name__} at {span}")

    def code(self, node: cst.CSTNode) -> str:
        """The text of a node, own or new."""
        return self.module.code_for_node(node)
