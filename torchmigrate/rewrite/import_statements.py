"""Import statements: names added, taken out, and taken from elsewhere."""

from __future__ import annotations

import ast
import sys
from bisect import bisect_right
from collections.abc import Collection

import libcst as cst

from torchmigrate.model.findings import Edit
from torchmigrate.text.source import Source

from .arguments import without_comments
from .changes import AddImport, MoveImport, Rebind

Import = cst.Import | cst.ImportFrom


def extended(node: cst.ImportFrom, name: str, bound: str | None = None) -> cst.ImportFrom:
    """The import with one more name (as ``bound``), on a line of its own where the others have theirs.

    It comes where isort has it if the others stand so, else behind them.
    """
    assert not isinstance(node.names, cst.ImportStar)
    *others, last = node.names
    comma = others[-1].comma if others else cst.MaybeSentinel.DEFAULT
    if not isinstance(comma, cst.Comma):
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        if node.lpar is not None and isinstance(node.lpar.whitespace_after, cst.ParenthesizedWhitespace):
            comma = cst.Comma(whitespace_after=node.lpar.whitespace_after)
    if isinstance(comma.whitespace_after, cst.ParenthesizedWhitespace):
        comma = comma.with_changes(whitespace_after=without_comments(comma.whitespace_after))
    ranks = [_rank(alias.evaluated_name) for alias in node.names]
    index = bisect_right(ranks, _rank(name)) if ranks == sorted(ranks) else len(ranks)
    new = _alias(name, bound)
    if index < len(ranks):
        new = new.with_changes(comma=comma)
        return node.with_changes(names=[*node.names[:index], new, *node.names[index:]])
    new = new.with_changes(comma=last.comma)
    return node.with_changes(names=[*others, last.with_changes(comma=comma), new])


def _alias(name: str, bound: str | None) -> cst.ImportAlias:
    asname = cst.AsName(cst.Name(bound)) if bound not in (None, name) else None
    return cst.ImportAlias(cst.Name(name), asname=asname)


def _rank(name: str) -> tuple[int, str]:
    """Where isort puts a name of an import: constants, then classes, then all others."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    return kind, name.lower()


def without_names(node: Import, gone: Collection[int]) -> Import:
    """The import without the names at these places; at least one stays."""
    assert not isinstance(node.names, cst.ImportStar)
    kept = [name for index, name in enumerate(node.names) if index not in gone]
    kept[-1] = kept[-1].with_changes(comma=node.names[-1].comma)
    return node.with_changes(names=kept)


def rebound(
    line: cst.SimpleStatementLine, node: cst.ImportFrom, change: Rebind | MoveImport
) -> list[cst.SimpleStatementLine | cst.BaseCompoundStatement]:
    """The line of an import of which one name, or all of them, come from another module."""
    module = cst.parse_expression(change.module)
    assert isinstance(module, (cst.Name, cst.Attribute))
    if isinstance(change, MoveImport):
        moved = node.with_changes(module=module)
        return [line.with_changes(body=[small if small is not node else moved for small in line.body])]
    alias = _alias(change.name, change.alias.asname or change.alias.name)
    new = cst.ImportFrom(module, [alias], semicolon=node.semicolon)
    index = change.statement.names.index(change.alias)
    if len(change.statement.names) == 1:
        others = [small if small is not node else new for small in line.body]
        return [line.with_changes(body=others)]
    first = cst.SimpleStatementLine([new.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)])
    rest = line.with_changes(body=[without_names(node, {index})], leading_lines=[])
    return [first.with_changes(leading_lines=line.leading_lines), rest]


def placed(source: Source, change: AddImport) -> Edit:
    """The edit that adds an import to the module where isort would have it, before code that is no import.

    The first imports of the file, up to a statement that is none, count.
    """
    text = f"import {change.module}" if change.name is None else f"from {change.module} import {change.name}"
    body = source.tree.body
    head = 0
    while head < len(body) and (_is_docstring(body[head], head) or _is_future(body[head])):
        head += 1
    imports = []
    for statement in body[head:]:
        if not isinstance(statement, (ast.Import, ast.ImportFrom)) or not _has_own_lines(source, statement):
            break
        imports.append(statement)
    if not imports:
        return _first(source, body[:head], text)
    section = _order_of(change)[0]
    before = [statement for statement in imports if _order(statement) < _order_of(change)]
    behind = [statement for statement in imports if statement not in before]
    if before and (_order(before[-1])[0] == section or not behind or _order(behind[0])[0] != section):
        at = source.whole_line(source.span(before[-1]).end).end
        return Edit(at, at, text + "\n" if _order(before[-1])[0] == section else f"\n{text}\n")
    at = source.offset(behind[0].lineno, 0)
    return Edit(at, at, text + "\n" if _order(behind[0])[0] == section else text + "\n\n")


def _first(source: Source, head: list[ast.stmt], text: str) -> Edit:
    after = (head[-1].end_lineno if head else None) or _first_lines(source.text)
    starts = source.line_starts
    at = starts[after] if after < len(starts) else len(source.text)
    return Edit(at, at, text + "\n" if head else text + "\n\n")


def _order(statement: ast.Import | ast.ImportFrom) -> tuple[int, int, str]:
    """Where isort puts an import: by section, ``import`` before ``from``, by module."""
    if isinstance(statement, ast.Import):
        return _section(statement.names[0].name, 0), 0, statement.names[0].name.lower()
    return _section(statement.module or "", statement.level), 1, (statement.module or "").lower()


def _order_of(change: AddImport) -> tuple[int, int, str]:
    return _section(change.module, 0), change.name is not None, change.module.lower()


def _section(module: str, level: int) -> int:
    if level:
        return 2
    return 0 if module.partition(".")[0] in sys.stdlib_module_names else 1


def _has_own_lines(source: Source, statement: ast.stmt) -> bool:
    span = source.span(statement)
    start, end = source.whole_line(span.start).start, source.whole_line(max(span.end - 1, 0)).end
    beside = source.text[start : span.start] + source.text[span.end : end]
    return not beside.strip() or (
        not beside[: span.start - start].strip() and beside.lstrip().startswith(b"#")
    )


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _is_docstring(statement: ast.stmt, index: int) -> bool:
    value = statement.value if index == 0 and isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _first_lines(text: bytes) -> int:
    """How many lines name the interpreter or the encoding, and have to come first."""
    number = 0
    for line, content in enumerate(text.splitlines()[:2], 1):
        if not content.startswith(b"#"):
            break
        if content.startswith(b"#!") or b"coding" in content:
            number = line
    return number
