"""Rewrites how a program names what it imports: other aliases, other imports, imports in functions."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

Edit = tuple[int, int, str]


@dataclass(frozen=True)
class Imported:
    """A name for something of torch's, bound by one import of the module alone; no string or comment spells it."""

    name: str
    statement: ast.Import | ast.ImportFrom
    alias: ast.alias


def renamable(text: str) -> list[Imported]:
    """The imported names that can be exchanged for others everywhere."""
    tree = ast.parse(text)
    bound = Counter(_bound(tree))
    found = [
        Imported(alias.asname or alias.name, node, alias)
        for node in tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
        if (getattr(node, "module", None) or alias.name).partition(".")[0] == "torch"
        and alias.name != "*"
        and (alias.asname or isinstance(node, ast.ImportFrom) or "." not in alias.name)
        and node.lineno == node.end_lineno
    ]
    spelled = " ".join(
        token.string
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in (tokenize.NAME, tokenize.OP)
    )
    return [
        one
        for one in found
        if bound[one.name] == 1 and not re.search(rf"\b{one.name}\b", spelled) and one.name.isascii()
    ]


def _bound(tree: ast.AST) -> Iterator[str]:
    """Every name that something in a program binds."""
    for node in ast.walk(tree):
        match node:
            case ast.alias():
                yield node.asname or node.name.partition(".")[0]
            case ast.Name(ctx=ast.Store() | ast.Del()):
                yield node.id
            case ast.arg():
                yield node.arg
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar() if node.name:
                yield node.name
            case ast.MatchMapping() if node.rest:
                yield node.rest
            case ast.Global() | ast.Nonlocal():
                yield from node.names


def renamed(text: str, imported: Imported, name: str) -> str:
    """The program with another name for something that it imports. All stays on its lines."""
    starts = _line_starts(text)
    edits: list[Edit] = []
    alias = imported.alias
    start = starts[alias.lineno - 1] + alias.col_offset
    end = starts[(alias.end_lineno or 1) - 1] + (alias.end_col_offset or 0)
    edits.append((start, end, f"{alias.name} as {name}"))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and node.id == imported.name:
            at = starts[node.lineno - 1] + node.col_offset
            edits.append((at, at + len(node.id), name))
    return _applied(text, edits)


def moved(text: str, imported: Imported) -> str | None:
    """The program with an import moved into each function that needs it; None where not only functions do."""
    if len(imported.statement.names) > 1 or imported.statement.col_offset:
        return None
    tree = ast.parse(text)
    starts = _line_starts(text)
    lines = text.encode().splitlines(keepends=True)
    statement = ast.get_source_segment(text, imported.statement)
    line = lines[imported.statement.lineno - 1].decode()
    if line.strip() != statement:
        return None
    uses = {node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == imported.name}
    edits: list[Edit] = [(starts[imported.statement.lineno - 1], starts[imported.statement.lineno], "\n")]
    for function in _outermost(tree):
        inside = {node for part in function.body for node in ast.walk(part)} & uses
        first = function.body[0]
        if not inside:
            continue
        if first.lineno == function.lineno or isinstance(first, ast.Expr) or hasattr(first, "decorator_list"):
            return None
        uses -= inside
        at = starts[first.lineno - 1]
        if lines[first.lineno - 1][: first.col_offset].strip():
            return None
        margin = lines[first.lineno - 1][: first.col_offset].decode()
        edits.append((at, at, f"{margin}{statement}\n"))
    return None if uses or len(edits) == 1 else _applied(text, edits)


def _outermost(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions that stand in no other one."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node
        else:
            yield from _outermost(node)


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in io.StringIO(text):
        starts.append(starts[-1] + len(line.encode()))
    return starts


def _applied(text: str, edits: list[Edit]) -> str:
    data = text.encode()
    for start, end, new in sorted(edits, reverse=True):
        data = data[:start] + new.encode() + data[end:]
    return data.decode()
