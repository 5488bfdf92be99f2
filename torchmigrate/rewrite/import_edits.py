"""Changes of import statements: names added, and names imported from another module."""

from __future__ import annotations

import ast
import sys
from bisect import bisect_right

import libcst as cst

from torchmigrate.model.findings import Edit
from torchmigrate.text.source_text import SourceText

from .changes import AddImport, MoveImport, Rebind
from .expression_edits import drop_indices, strip_comments


def add_name(node: cst.ImportFrom, name: str, bound: str | None = None) -> cst.ImportFrom:
    """Return the import with one more name (as ``bound``), on its own line if the other names are.

    The name goes where isort would put it if the others are sorted, else after them.
    """
    assert not isinstance(node.names, cst.ImportStar)
    *others, last = node.names
    comma = others[-1].comma if others else cst.MaybeSentinel.DEFAULT
    if not isinstance(comma, cst.Comma):
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        if node.lpar is not None and isinstance(node.lpar.whitespace_after, cst.ParenthesizedWhitespace):
            comma = cst.Comma(whitespace_after=node.lpar.whitespace_after)
    if isinstance(comma.whitespace_after, cst.ParenthesizedWhitespace):
        comma = comma.with_changes(whitespace_after=strip_comments(comma.whitespace_after))
    ranks = [_get_name_rank(alias.evaluated_name) for alias in node.names]
    index = bisect_right(ranks, _get_name_rank(name)) if ranks == sorted(ranks) else len(ranks)
    new = _build_alias(name, bound)
    if index < len(ranks):
        new = new.with_changes(comma=comma)
        return node.with_changes(names=[*node.names[:index], new, *node.names[index:]])
    new = new.with_changes(comma=last.comma)
    return node.with_changes(names=[*others, last.with_changes(comma=comma), new])


def _build_alias(name: str, bound: str | None) -> cst.ImportAlias:
    asname = cst.AsName(cst.Name(bound)) if bound not in (None, name) else None
    return cst.ImportAlias(cst.Name(name), asname=asname)


def _get_name_rank(name: str) -> tuple[int, str]:
    """Return the sort key of a name in isort's order: constants, then classes, then all others."""
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2
    return kind, name.lower()


def move_names(
    line: cst.SimpleStatementLine, node: cst.ImportFrom, change: Rebind | MoveImport
) -> list[cst.SimpleStatementLine | cst.BaseCompoundStatement]:
    """Return the lines of an import of which one name, or all names, come from another module."""
    module = cst.parse_expression(change.module)
    assert isinstance(module, (cst.Name, cst.Attribute))
    if isinstance(change, MoveImport):
        moved = node.with_changes(module=module)
        return [line.with_changes(body=[small if small is not node else moved for small in line.body])]
    alias = _build_alias(change.name, change.alias.asname or change.alias.name)
    new = cst.ImportFrom(module, [alias], semicolon=node.semicolon)
    index = change.statement.names.index(change.alias)
    if len(change.statement.names) == 1:
        body = [small if small is not node else new for small in line.body]
        return [line.with_changes(body=body)]
    first = cst.SimpleStatementLine([new.with_changes(semicolon=cst.MaybeSentinel.DEFAULT)])
    assert not isinstance(node.names, cst.ImportStar)
    others = node.with_changes(names=drop_indices(node.names, {index}))
    rest = line.with_changes(body=[others], leading_lines=[])
    return [first.with_changes(leading_lines=line.leading_lines), rest]


def place_import(source: SourceText, change: AddImport) -> Edit:
    """Return the edit that adds an import where isort would put it, among the first imports of the file.

    Imports after another statement, or on a line with one, are ignored.
    """
    text = change.code
    body = source.syntax_tree.body
    head = int(ast.get_docstring(source.syntax_tree, clean=False) is not None)
    while head < len(body) and _is_future_import(body[head]):
        head += 1
    imports = []
    for statement in body[head:]:
        if not isinstance(statement, (ast.Import, ast.ImportFrom)) or not _has_own_lines(source, statement):
            break
        imports.append(statement)
    if not imports:
        return _place_first_import(source, body[:head], text)
    order = _get_import_section(change.module, 0), change.name is not None, change.module.lower()
    before = [statement for statement in imports if _get_import_order(statement) < order]
    behind = [statement for statement in imports if statement not in before]
    if before and (
        _get_import_order(before[-1])[0] == order[0]
        or not behind
        or _get_import_order(behind[0])[0] != order[0]
    ):
        at = source.full_line_span(source.span_of(before[-1]).end).end
        return Edit(at, at, text + "\n" if _get_import_order(before[-1])[0] == order[0] else f"\n{text}\n")
    at = source.offset_of(behind[0].lineno, 0)
    return Edit(at, at, text + "\n" if _get_import_order(behind[0])[0] == order[0] else text + "\n\n")


def _place_first_import(source: SourceText, head: list[ast.stmt], text: str) -> Edit:
    after = (head[-1].end_lineno if head else None) or _count_fixed_lines(source.text)
    starts = source.line_starts
    at = starts[after] if after < len(starts) else len(source.text)
    return Edit(at, at, text + "\n" if head else text + "\n\n")


def _get_import_order(statement: ast.Import | ast.ImportFrom) -> tuple[int, int, str]:
    """Return the sort key of an import in isort's order: section, ``import`` before ``from``, module."""
    if isinstance(statement, ast.Import):
        return _get_import_section(statement.names[0].name, 0), 0, statement.names[0].name.lower()
    return _get_import_section(statement.module or "", statement.level), 1, (statement.module or "").lower()


def _get_import_section(module: str, level: int) -> int:
    if level:
        return 2
    return 0 if module.partition(".")[0] in sys.stdlib_module_names else 1


def _has_own_lines(source: SourceText, statement: ast.stmt) -> bool:
    span = source.span_of(statement)
    start, end = source.full_line_span(span.start).start, source.full_line_span(max(span.end - 1, 0)).end
    beside = source.text[start : span.start] + source.text[span.end : end]
    return not beside.strip() or (
        not beside[: span.start - start].strip() and beside.lstrip().startswith(b"#")
    )


def _is_future_import(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _count_fixed_lines(text: bytes) -> int:
    """Return the number of first lines that name the interpreter or the encoding, and have to stay first."""
    number = 0
    for line, content in enumerate(text.splitlines()[:2], 1):
        if not content.startswith(b"#"):
            break
        if content.startswith(b"#!") or b"coding" in content:
            number = line
    return number
