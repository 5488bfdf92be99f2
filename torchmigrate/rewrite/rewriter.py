"""The rewriter of a file: it turns the changes of a fix into text edits."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchmigrate.model.findings import Change, Edit, NoFix, Span
from torchmigrate.text.source import Source

from . import changes as kinds
from .difference import edits
from .import_statements import placed
from .layout import broken
from .parts import marked
from .region import Region
from .regions import Regions
from .statements import Stand
from .tree import changed


class Rewriter:
    """Rewrites one file. What was parsed for one fix is used for the next ones."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._regions = Regions(source)

    def edits(self, changes: Iterable[Change | Edit]) -> tuple[Edit, ...]:
        """Return the smallest edits that make the changes, by position. Raises NoFix if a change cannot be made."""
        found: list[Edit] = []
        pending: list[Change] = []
        for change in _with_imports(changes):
            match change:
                case Edit():
                    found.append(change)
                case kinds.AddImport():
                    found.append(placed(self._source, change))
                case kinds.Replace(node=node) if self._is_quoted(node):
                    found.append(_edit_in_string(self._source, change))
                case _:
                    pending.append(change)
        for region, stand, inside in self._grouped(pending):
            module = changed(region, inside, is_alone=self._is_alone(region, stand))
            found += edits(region, broken(region, module))
        return tuple(sorted(set(found)))

    def _is_quoted(self, node: ast.expr) -> bool:
        """Return whether the expression is written in a string, as in ``x: "torch.jit.Final[int]"``."""
        # libcst sees such a string and nothing in it.
        start, end = span = self._source.span(node)
        nodes = ast.walk(self._regions.statements.around(span).statement)
        strings = (n for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str))
        spans = (self._source.span(string) for string in strings)
        return any(span.start < start and end < span.end for span in spans)

    def _grouped(self, changes: Iterable[Change]) -> Iterator[tuple[Region, Stand, list[Change]]]:
        """Yield the outermost regions that change, each with a position in it and its changes."""
        changes = [*changes]
        found = [(*self._region(change), change) for change in changes]
        removed = {change.statement for change in changes if isinstance(change, kinds.Remove)}
        for index, (_, stand, change) in enumerate(found):
            if stand.parent is not None and len(stand.block) > 1 and removed.issuperset(stand.block):
                found[index] = self._regions.block(stand), stand, change
        found.sort(key=lambda item: (item[0].span.start, -item[0].span.end))
        groups: list[tuple[Region, Stand, list[Change]]] = []
        for region, stand, change in found:
            outer = groups[-1][0].span if groups else Span(0, 0)
            if region.span.start < outer.end:
                if region.span.end > outer.end:
                    raise NoFix(
                        f"two parts of the fix overlap in line {self._source.line_of(region.span.start)}"
                    )
                groups[-1][2].append(change)
            else:
                groups.append((region, stand, [change]))
        yield from groups

    def _region(self, change: Change) -> tuple[Region, Stand]:
        """Return the region that has to be parsed to make a change, and the position of a statement in it."""
        regions = self._regions
        if isinstance(change, kinds.Merge):
            return regions.several([regions.statements.of(statement) for statement in change.statements])
        node = kinds.subject(change)
        if not isinstance(node, ast.stmt):
            return self._around(node)
        stand = regions.statements.of(node)
        match change:
            case kinds.DropItems() | kinds.RemoveDecorator() | kinds.DropArguments():
                return regions.header(stand), stand
            case kinds.Declare(owner=owner):
                return regions.opening(owner), stand
            case kinds.Remove() | kinds.Unwrap() | kinds.Decide() | kinds.DropImports():
                stand = regions.on_own_lines(stand)
                return regions.slot(stand), stand
        stand = regions.on_own_lines(stand)
        return regions.whole(stand), stand

    def _around(self, node: ast.AST) -> tuple[Region, Stand]:
        stand = self._regions.statements.around(self._source.span(node))
        region = self._regions.header(stand)
        if not region.holds(node):
            region = self._regions.whole(stand)
        return region, stand

    def _is_alone(self, region: Region, stand: Stand) -> bool:
        """Return whether a region holds all statements of its block."""
        first, last = stand.block[0], stand.block[-1]
        start, end = self._regions.statements.start(first), self._source.span(last).end
        return stand.parent is not None and region.span.start <= start and end <= region.span.end


def _edit_in_string(source: Source, change: kinds.Replace) -> Edit:
    """Return the edit for an expression inside a string. Raises NoFix if a part of the file would move there."""
    if any(isinstance(part, (ast.expr, list, tuple)) for part in change.new.parts.values()):
        raise NoFix("the expression is written in a string")
    span = source.span(change.node)
    return Edit(span.start, span.end, marked(change.new))


def _parts(change: Change | Edit) -> tuple[Change | Edit, ...]:
    """Return the changes of single statements that a change consists of."""
    if isinstance(change, kinds.Rebind) and change.into is not None:
        bound = change.alias.asname or change.alias.name
        return (
            kinds.DropImports(change.statement, (change.alias,)),
            kinds.ExtendImport(change.into, change.name, bound),
        )
    return (change,)


def _with_imports(changes: Iterable[Change | Edit]) -> Iterator[Change | Edit]:
    """Yield the changes and the import changes that their symbols need, each import once."""
    imported: set[object] = set()
    for change in changes:
        symbols = () if isinstance(change, Edit) else kinds.symbols(change)
        for one in (*_parts(change), *(needed for symbol in symbols for needed in symbol.changes)):
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
