"""The rewriter of a file: it turns the changes of a fix into text edits."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterable, Iterator
from itertools import takewhile

from torchmigrate.model.findings import Edit, FixChange, NoFix, Span
from torchmigrate.text.source_text import SourceText

from . import changes as kinds
from .import_edits import place_import
from .line_layout import lay_out_lines
from .placeholders import render_placeholders
from .region import Region
from .region_selection import RegionSelector
from .statement_positions import StatementPosition
from .tree_difference import find_edits
from .tree_rewriting import rewrite_module


class Rewriter:
    """Rewrites one file. What was parsed for one fix is used for the next ones."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._regions = RegionSelector(source)
        self._strings: dict[ast.stmt, list[Span]] = {}

    def build_edits(self, changes: Iterable[FixChange | Edit]) -> tuple[Edit, ...]:
        """Return the smallest edits that make the changes, by position. Raises NoFix if a change cannot be made."""
        found: list[Edit] = []
        pending: list[FixChange] = []
        for change in _add_import_changes(changes):
            match change:
                case Edit():
                    found.append(change)
                case kinds.AddImport():
                    found.append(place_import(self._source, change))
                case kinds.Replace(node=node) if self._is_quoted(node):
                    # A part of the file cannot move into a string.
                    if any(isinstance(part, (ast.expr, list, tuple)) for part in change.new.parts.values()):
                        raise NoFix("the expression is inside a string")
                    span = self._source.span_of(change.node)
                    found.append(Edit(span.start, span.end, render_placeholders(change.new)))
                case _:
                    pending.append(change)
        for region, stand, inside in self._group_by_region(pending):
            module = rewrite_module(region, inside, is_alone=self._is_whole_block(region, stand))
            found += find_edits(region, lay_out_lines(region, module))
        return tuple(sorted(set(found)))

    def _is_quoted(self, node: ast.expr) -> bool:
        """Return whether the expression is inside a string, as in ``x: "torch.jit.Final[int]"``."""
        # libcst sees such a string and nothing in it.
        start, end = span = self._source.span_of(node)
        statement = self._regions.statements.find_enclosing(span).statement
        if statement not in self._strings:
            strings = (n for n in ast.walk(statement) if isinstance(n, ast.Constant))
            self._strings[statement] = [self._source.span_of(n) for n in strings if isinstance(n.value, str)]
        return any(span.start < start and end < span.end for span in self._strings[statement])

    def _group_by_region(
        self, changes: Iterable[FixChange]
    ) -> Iterator[tuple[Region, StatementPosition, list[FixChange]]]:
        """Yield the outermost regions that change, each with a position in it and its changes."""
        changes = [*changes]
        found = [(*self._select_region(change), change) for change in changes]
        removed = {change.statement for change in changes if isinstance(change, kinds.Remove)}
        runs: dict[ast.stmt, Region] = {}
        for index, (_, stand, change) in enumerate(found):
            if stand.parent is not None and len(stand.block) > 1 and removed.issuperset(stand.block):
                found[index] = self._regions.select_block(stand), stand, change
            elif isinstance(change, kinds.Remove):
                if stand.statement not in runs:
                    run = _find_run(stand, removed)
                    region = self._regions.select_slot(run[0], run[-1]) if run else found[index][0]
                    runs |= dict.fromkeys([stand.statement, *(one.statement for one in run)], region)
                found[index] = runs[stand.statement], stand, change
        found.sort(key=lambda item: (item[0].span.start, -item[0].span.end))
        groups: list[tuple[Region, StatementPosition, list[FixChange]]] = []
        for region, stand, change in found:
            outer = groups[-1][0].span if groups else Span(0, 0)
            if region.span.start < outer.end:
                if region.span.end > outer.end:
                    raise NoFix(
                        f"two parts of the fix overlap on line {self._source.line_of(region.span.start)}"
                    )
                groups[-1][2].append(change)
            else:
                groups.append((region, stand, [change]))
        yield from groups

    def _select_region(self, change: FixChange) -> tuple[Region, StatementPosition]:
        """Return the region that has to be parsed to make a change, and the position of a statement in it."""
        regions = self._regions
        if isinstance(change, kinds.Merge):
            return regions.select_several(
                [regions.statements.find_position(statement) for statement in change.statements]
            )
        node = kinds.get_subject(change)
        if not isinstance(node, ast.stmt):
            return self._select_smallest_region(change, node)
        stand = regions.statements.find_position(node)
        match change:
            case (
                kinds.DropItems()
                | kinds.RemoveDecorator()
                | kinds.AddDecorator()
                | kinds.AddParameters()
                | kinds.DropArguments()
            ):
                return regions.select_header(stand), stand
            case kinds.Declare(owner=owner):
                return regions.select_class_opening(owner), stand
            case kinds.Remove() | kinds.Unwrap() | kinds.Decide() | kinds.DropImports():
                stand = regions.find_line_owner(stand)
                return regions.select_slot(stand), stand
            case kinds.Annotate():
                return regions.narrow_region(regions.select_statement(stand), stand, node), stand
        stand = regions.find_line_owner(stand)
        return regions.select_statement(stand), stand

    def _select_smallest_region(self, change: FixChange, node: ast.AST) -> tuple[Region, StatementPosition]:
        stand = self._regions.statements.find_enclosing(self._source.span_of(node))
        region = self._regions.select_header(stand)
        if not region.contains_node(node):
            region = self._regions.select_statement(stand)
        if isinstance(change, (kinds.Replace, kinds.DropArguments, kinds.AddArgument)):
            region = self._regions.narrow_region(region, stand, node)
        return region, stand

    def _is_whole_block(self, region: Region, stand: StatementPosition) -> bool:
        """Return whether a region holds all statements of its block."""
        first, last = stand.block[0], stand.block[-1]
        start, end = self._regions.statements.find_start(first), self._source.span_of(last).end
        return stand.parent is not None and region.span.start <= start and end <= region.span.end


def _find_run(stand: StatementPosition, removed: Container[ast.stmt]) -> list[StatementPosition]:
    """Return the positions of the removed statements directly above and below a removed one, with its own."""
    place = stand.index
    above = [*takewhile(removed.__contains__, reversed(stand.block[:place]))]
    below = [*takewhile(removed.__contains__, stand.block[place:])]
    return [StatementPosition(one, stand.block, stand.parent) for one in [*reversed(above), *below]]


def _split_change(change: FixChange | Edit) -> tuple[FixChange | Edit, ...]:
    """Return the changes of single statements that a change consists of."""
    if isinstance(change, kinds.Rebind) and change.into is not None:
        bound = change.alias.asname or change.alias.name
        return (
            kinds.DropImports(change.statement, (change.alias,)),
            kinds.ExtendImport(change.into, change.name, bound),
        )
    return (change,)


def _add_import_changes(changes: Iterable[FixChange | Edit]) -> Iterator[FixChange | Edit]:
    """Yield the changes and the import changes that their symbols need, each import once."""
    imported: set[object] = set()
    for change in changes:
        symbols = () if isinstance(change, Edit) else kinds.iter_symbols(change)
        for one in (*_split_change(change), *(needed for symbol in symbols for needed in symbol.changes)):
            match one:
                case kinds.AddImport(module=module, name=name):
                    key: object = module, name
                case kinds.ExtendImport(statement=statement, name=name):
                    key = statement, name
                case _:
                    key = one
            if key not in imported:
                imported.add(key)
                yield one
