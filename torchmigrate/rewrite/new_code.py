"""The code of a region after a change, as the layout of its lines needs it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import libcst as cst

from torchmigrate.model.findings import Span

from .indentation import get_indent
from .line_ends import find_line_end, find_line_start, get_line
from .region import Region, collect_parents, collect_spans

_Node = TypeVar("_Node", bound=cst.CSTNode)


@dataclass(frozen=True)
class NewCode:
    """The module of a changed region, and the most characters that a line should have."""

    region: Region
    module: cst.Module
    limit: int

    @cached_property
    def text(self) -> bytes:
        """The code in UTF-8, which the spans are offsets into."""
        return self.module.code.encode()

    @cached_property
    def spans(self) -> Mapping[cst.CSTNode, Span]:
        """The byte span of each node, without the parentheses around it."""
        return collect_spans(self.module)

    @cached_property
    def parents(self) -> Mapping[cst.CSTNode, cst.CSTNode]:
        """The parent of each node."""
        return collect_parents(self.module)

    def iter_new(self, kind: type[_Node]) -> Iterator[_Node]:
        """Iterate over the nodes of a class that the change made, outer ones first."""
        return (node for node in self._new_nodes if isinstance(node, kind))

    @cached_property
    def _new_nodes(self) -> list[cst.CSTNode]:
        found = [item for item in self.spans.items() if item[0] not in self.region.node_spans]
        return [node for node, _ in sorted(found, key=lambda item: (item[1].start, -item[1].end))]

    @cached_property
    def _head(self) -> str:
        """The text before the region on its first line: ``el`` of an ``elif`` with its indentation, or nothing."""
        start = self.region.span.start
        text = self.region.source.text
        return text[find_line_start(text, start) : start].decode()

    @cached_property
    def _lines(self) -> bytes:
        """The code as it will stand in the file, without what only lets it parse after its end."""
        source, end = self.region.source.text, self.region.span.end
        behind = source[end : find_line_end(source, end)] if find_line_start(source, end) < end else b""
        return self._head.encode() + self.text.removesuffix(self.region.behind) + behind

    def get_line(self, node: cst.CSTNode) -> str:
        """Return the line that a node begins on."""
        return get_line(self._lines, len(self._head.encode()) + self.spans[node].start)

    def get_last_line(self, node: cst.CSTNode) -> str:
        """Return the line that a node ends on."""
        return get_line(self._lines, len(self._head.encode()) + self.spans[node].end)

    def get_code(self, node: cst.CSTNode) -> str:
        """Return the code of a node."""
        span = self.spans[node]
        return self.text[span.start : span.end].decode()

    def get_code_behind(self, node: cst.CSTNode) -> str:
        """Return what follows a node on its last line."""
        end = len(self._head.encode()) + self.spans[node].end
        return self._lines[end : find_line_end(self._lines, end)].decode()

    def fits_below(self, node: cst.CSTNode, text: str) -> bool:
        """Return whether a text fits on a line of its own, indented by one level more than the line of a node."""
        return len(get_indent(self.get_line(node))) + 4 + len(text) <= self.limit

    def find_margin(self, node: cst.CSTNode) -> str | None:
        """Return how far a node's line is indented within its statement.

        None inside an f-string, which cannot have line breaks before Python 3.12.
        """
        statement = node
        while not isinstance(statement, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
            if isinstance(statement, cst.FormattedString):
                return None
            statement = self.parents[statement]
        around = get_indent(get_line(self.text, self.spans[statement].start))
        return get_indent(self.get_line(node)).removeprefix(around)


def build_line_break(margin: str) -> cst.ParenthesizedWhitespace:
    """Return a line break within parentheses; the next line is indented by ``margin`` within its statement."""
    first = cst.TrailingWhitespace(whitespace=cst.SimpleWhitespace(""))
    return cst.ParenthesizedWhitespace(first, indent=True, last_line=cst.SimpleWhitespace(margin))
