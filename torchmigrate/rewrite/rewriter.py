"""From the changes of a fix to the edits of its file."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from torchmigrate.model.findings import Change, Edit, NoFix, Span
from torchmigrate.text.source import Source

from . import changes as say
from .difference import edits
from .import_statements import placed
from .layout import broken
from .quoted import is_quoted, within
from .region import Region
from .regions import Regions
from .statements import Stand
from .tree import changed


class Rewriter:
    """Rewrites one file. What was parsed for one fix serves the others."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._regions = Regions(source)

    def edits(self, changes: Iterable[Change | Edit]) -> tuple[Edit, ...]:
        """The smallest edits that make the changes, in order of position. Raises NoFix where they cannot be made."""
        found: list[Edit] = []
        pending: list[Change] = []
        for change in _with_imports(changes):
            match change:
                case Edit():
                    found.append(change)
                case say.AddImport():
                    found.append(placed(self._source, change))
                case say.Replace(node=node) if self._is_quoted(node):
                    found.append(within(self._source, change))
                case _:
                    pending.append(change)
        for region, stand, inside in self._grouped(pending):
            found += self._changed(region, stand, inside)
        return tuple(sorted(set(found)))

    def _is_quoted(self, node: ast.expr) -> bool:
        statement = self._regions.statements.around(self._source.span(node)).statement
        return is_quoted(self._source, statement, node)

    def _changed(self, region: Region, stand: Stand, changes: list[Change]) -> Iterator[Edit]:
        module = changed(region, changes, is_alone=self._is_alone(region, stand))
        yield from edits(region, broken(region, module))

    def _grouped(self, changes: Iterable[Change]) -> Iterator[tuple[Region, Stand, list[Change]]]:
        """The regions that change, the outermost ones, each with its changes."""
        changes = [*changes]
        found = [(*self._region(change), change) for change in changes]
        removed = {change.statement for change in changes if isinstance(change, say.Remove)}
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
                        f"two parts of the fix meet in line {self._source.line_of(region.span.start)}"
                    )
                groups[-1][2].append(change)
            else:
                groups.append((region, stand, [change]))
        yield from groups

    def _region(self, change: Change) -> tuple[Region, Stand]:
        """The lines that have to be seen to make a change, and a statement of theirs."""
        regions = self._regions
        match change:
            case say.Remove() | say.Unwrap() | say.Decide() | say.DropImports():
                stand = regions.on_own_lines(regions.statements.of(change.statement))
                return regions.slot(stand), stand
            case (
                say.Insert()
                | say.ReplaceStatement()
                | say.Annotate()
                | say.Rebind()
                | say.MoveImport()
                | say.ExtendImport()
            ):
                stand = regions.on_own_lines(regions.statements.of(change.statement))
                return regions.whole(stand), stand
            case say.DropItems(statement=node):
                stand = regions.statements.of(node)
                return regions.header(stand), stand
            case say.Merge(statements=merged):
                return regions.several([regions.statements.of(statement) for statement in merged])
            case say.Declare(owner=owner):
                return regions.opening(owner), regions.statements.of(owner)
            case say.RemoveDecorator(definition=node) | say.DropArguments(call=ast.ClassDef() as node):
                stand = regions.statements.of(node)
                return regions.header(stand), stand
            case _:
                return self._around(_node(change))

    def _around(self, node: ast.AST) -> tuple[Region, Stand]:
        stand = self._regions.statements.around(self._source.span(node))
        region = self._regions.header(stand)
        if not region.holds(node):
            region = self._regions.whole(stand)
        return region, stand

    def _is_alone(self, region: Region, stand: Stand) -> bool:
        """Whether the statements of a region are all of their block."""
        first, last = stand.block[0], stand.block[-1]
        start, end = self._regions.statements.start(first), self._source.span(last).end
        return stand.parent is not None and region.span.start <= start and end <= region.span.end


def _node(change: Change) -> ast.AST:
    match change:
        case say.NameArgument(argument=node) | say.RenameFile(literal=node) | say.Reword(literal=node):
            return node
        case say.AddArgument(call=node) | say.DropArguments(call=node):
            return node
        case say.Replace(node=node) | say.Rename(node=node) | say.DropOperands(node=node):
            return node
    raise TypeError(f"no change that is known: {change}")


def _parts(change: Change | Edit) -> tuple[Change | Edit, ...]:
    """The changes of single statements that a change is made of."""
    if isinstance(change, say.Rebind) and change.into is not None:
        bound = change.alias.asname or change.alias.name
        return (
            say.DropImports(change.statement, (change.alias,)),
            say.ExtendImport(change.into, change.name, bound),
        )
    return (change,)


def _with_imports(changes: Iterable[Change | Edit]) -> Iterator[Change | Edit]:
    """The changes, and those of imports that their symbols need; every import once."""
    imported: set[object] = set()
    for change in changes:
        symbols = () if isinstance(change, Edit) else say.symbols(change)
        for one in (*_parts(change), *(needed for symbol in symbols for needed in symbol.changes)):
            match one:
                case say.AddImport(module=module, name=name):
                    key: object = module, name
                case say.ExtendImport(statement=statement, name=name):
                    key = statement, name
                case _:
                    key = one
            if key not in imported:
                imported.add(key)
                yield one
