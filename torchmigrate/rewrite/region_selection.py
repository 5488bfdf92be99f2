"""The choice of the lines to parse for a change: a statement, its header, or the enclosing block."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from torchmigrate.model.findings import NoFix, Span
from torchmigrate.text.source_text import SourceText

from .narrow_regions import LONG, NarrowRegions
from .region import PASS, SUITE, Region
from .statement_positions import StatementIndex, StatementPosition

_INDENT = re.compile(rb"[ \t\f]*")


class RegionSelector:
    """The regions of one file, each of which is parsed once for all the changes in it."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self.statements = StatementIndex(source)
        self._narrow = NarrowRegions(source)
        self._made: dict[tuple[Span, bytes, bytes], Region] = {}

    def select_header(self, stand: StatementPosition) -> Region:
        """Return the region of a compound statement's header (with decorators), or of a whole simple statement."""
        statement, source = stand.statement, self.source
        end = self.statements.find_header_end(statement)
        if end is None:
            return self.select_statement(stand)
        start = self.statements.find_start(statement)
        line = source.full_line_span(start).start
        if source.text.startswith(b"elif", start):
            if b"#" in source.text[start:end]:  # the comment may have to move before the whole chain
                return self.select_statement(stand)
            return self._get_region(Span(start + len(b"el"), end), b"", b" " + PASS)
        return self._get_region(Span(line, end), self._get_prefix(line), b" " + PASS)

    def select_statement(self, stand: StatementPosition) -> Region:
        """Return the region of all lines of a statement, and of the statements that share a line with it."""
        return self._select_block_lines(self.find_lines(stand))

    def narrow_region(self, region: Region, stand: StatementPosition, node: ast.AST) -> Region:
        """Return a part of a region that is long: the element around a node, or the statement alone; else the region."""
        if region.span.end - region.span.start <= LONG:
            return region
        if node is not stand.statement and (span := self._narrow.find_element(stand.statement, node)):
            return self._get_region(span, b"[", b", 0]\n", is_part=True)
        if span := self._narrow.find_statement(stand.statement):
            return self._get_region(span, b"", b"\n", is_part=True)
        return region

    def select_slot(self, stand: StatementPosition, last_stand: StatementPosition | None = None) -> Region:
        """Return the region of a statement to remove, or of all up to ``last_stand``, with the comments that end the block and blank lines after."""
        start, end = self.find_lines(stand).start, self.find_lines(last_stand or stand).end
        margin = len(self._get_indent(start))
        last = blank_end = end
        for line in self._iter_lines(end):
            content = self.source.text[line.start : line.end]
            if content.strip():
                if not (content.lstrip().startswith(b"#") and len(self._get_indent(line.start)) > margin):
                    break
                last = line.end
            blank_end = line.end
        for line in self._iter_lines(last):
            if line.end > blank_end or self.source.text[line.start : line.end].strip():
                break
            last = line.end
        return self._select_block_lines(Span(start, last), self._count_gap(stand, start))

    def _count_gap(self, stand: StatementPosition, start: int) -> int:
        """Return the number of blank lines above a statement at byte offset ``start``; more than any where no code or comment of its block is above."""
        edge = len(self.source.text)
        above = reversed(self.source.text[:start].splitlines())
        gap, nearest = next(((i, line) for i, line in enumerate(above) if line.strip()), (edge, b""))
        begins_block = stand.parent is not None and stand.index == 0
        return edge if begins_block and not nearest.lstrip().startswith(b"#") else gap

    def select_block(self, stand: StatementPosition) -> Region:
        """Return the region of all statements of a block."""
        first, last = (
            self.find_lines(StatementPosition(stand.block[i], stand.block, stand.parent)) for i in (0, -1)
        )
        return self._select_block_lines(Span(first.start, last.end))

    def select_several(self, stands: Sequence[StatementPosition]) -> tuple[Region, StatementPosition]:
        """Return the region from the first to the last of several statements of a block, and the last one's position."""
        first, *_, last = (self.find_line_owner(stand) for stand in (stands[0], stands[-1]))
        if first.block is not last.block:
            raise NoFix(
                f"the statement on line {stands[-1].statement.lineno} shares a line with other statements"
            )
        return self._select_block_lines(
            Span(self.find_lines(first).start, self.select_slot(last).span.end)
        ), last

    def _iter_lines(self, offset: int) -> Iterator[Span]:
        """Yield the spans of the lines from a byte offset on, in a notebook only to the end of the cell."""
        while offset < len(self.source.text):
            line = self.source.full_line_span(offset)
            if line.start < offset or line.end <= offset:
                return
            yield line
            offset = line.end

    def _get_indent(self, line: int) -> bytes:
        """Return the white space that the line at byte offset ``line`` begins with."""
        found = _INDENT.match(self.source.text, line)
        return found[0] if found else b""

    def _select_block_lines(self, span: Span, gap: int = 0) -> Region:
        ends = self.source.text[span.start : span.end].endswith((b"\n", b"\r"))
        behind = (b"" if ends else b"\n") + self._get_indent(span.start) + PASS
        return self._get_region(span, self._get_prefix(span.start), behind, gap)

    def select_class_opening(self, owner: ast.ClassDef) -> Region:
        """Return the region of a class's header and docstring, up to its first other statement."""
        first = owner.body[index_after_docstring(owner)]
        start = self.source.full_line_span(
            self.statements.find_start(self.statements.find_position(owner).statement)
        ).start
        at = self.statements.find_start(first)
        return self._get_region(Span(start, at), self._get_prefix(start), PASS)

    def find_lines(self, stand: StatementPosition) -> Span:
        """Return the span of the whole lines of a statement, and of the statements that share a line with it."""
        stand = self.find_line_owner(stand)
        block, low = stand.block, stand.index
        high = low
        start = self.source.full_line_span(self.statements.find_start(block[low])).start
        while low and (
            self.source.span_of(block[low - 1]).end > start or self._are_joined(block[low - 1], block[low])
        ):
            low -= 1
            start = self.source.full_line_span(self.statements.find_start(block[low])).start
        end = self.source.full_line_span(max(self.source.span_of(block[high]).end - 1, 0)).end
        while high + 1 < len(block) and (
            self.statements.find_start(block[high + 1]) < end
            or self._are_joined(block[high], block[high + 1])
        ):
            high += 1
            end = self.source.full_line_span(max(self.source.span_of(block[high]).end - 1, 0)).end
        return Span(start, end)

    def _are_joined(self, one: ast.stmt, other: ast.stmt) -> bool:
        """Return whether a semicolon separates two statements, perhaps next to line continuations."""
        between = self.source.text[self.source.span_of(one).end : self.statements.find_start(other)]
        return between.lstrip(b" \t\f\\\r\n").startswith(b";")

    def find_line_owner(self, stand: StatementPosition) -> StatementPosition:
        """Return the statement, or the innermost enclosing one that begins a line: not ``elif``, or ``f()`` in ``if x: f()``."""
        while stand.parent is not None:
            first = stand.block[0]
            start = self.statements.find_start(first)
            line = self.source.full_line_span(start).start
            is_continued = self.source.text.endswith((b"\\\n", b"\\\r\n", b"\\\r"), 0, line)  # as in `if x:\`
            begins = not self.source.text[line:start].strip() and not is_continued
            is_elif = self.source.text.startswith(b"elif", start) and isinstance(first, ast.If)
            if begins and not is_elif:
                break
            stand = stand.parent
        return stand

    def _get_prefix(self, start: int) -> bytes:
        return SUITE if self.source.text[start : start + 1] in (b" ", b"\t", b"\f") else b""

    def _get_region(
        self, span: Span, before: bytes, behind: bytes = b"", gap: int = 0, *, is_part: bool = False
    ) -> Region:
        key = (span, before, behind)
        if key not in self._made:
            self._made[key] = Region(self.source, span, before, behind, gap, is_part)
        return self._made[key]


def index_after_docstring(owner: ast.ClassDef) -> int:
    """Return the index of the first statement of a class after its docstring."""
    return 1 if ast.get_docstring(owner, clean=False) is not None and len(owner.body) > 1 else 0
