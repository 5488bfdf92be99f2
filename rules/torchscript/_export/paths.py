"""The paths of saved files: which are the same, and how they get another suffix."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.rewrite.changes import RenameFile
from torchmigrate.semantics.resolve import leaf, string

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

    from .chain import Chain

Literal = ast.Constant | ast.JoinedStr
_LITERALS = (ast.Constant, ast.JoinedStr)
_SUFFIXES = (".pt", ".pth")


def is_same(path: ast.expr | None, other: ast.expr, use: Use, chain: Chain) -> bool:
    """Whether two expressions name the same file: equal literals, or the same text in one scope."""
    if path is None:
        return False
    if isinstance(path, ast.Constant) and isinstance(other, ast.Constant):
        return bool(path.value == other.value)
    return use.place.scope is chain.scope and ast.dump(path) == ast.dump(other)


def may_be_same(path: ast.expr | None, other: ast.expr, use: Use, chain: Chain) -> bool:
    """Whether what ``use`` reads from ``path`` may be the file that a chain saves to ``other``, in whatever scope.

    It is another one where both names are written out and differ, and where it is no file but a buffer.
    """
    flow = chain.ctx.uses.flow
    value = flow.definition(path, use.place.scope) if isinstance(path, ast.Name) else path
    if isinstance(value, ast.Call) and leaf(value.func) == "BytesIO" and use.place.scope is not chain.scope:
        return False
    names = _name(path, use, chain.ctx), _name(other, chain.use, chain.ctx)
    return None in names or names[0] == names[1]


def _name(path: ast.expr | None, use: Use, ctx: Context) -> str | None:
    """The name of a file without its folders, where it is written out."""
    literal = _literal(path, use, ctx) if path is not None else None
    if isinstance(literal, ast.JoinedStr):
        end = string(literal.values[-1]) if literal.values else None
        return os.path.basename(end) if end is not None and "/" in end else None
    text = string(literal) if literal is not None else None
    return os.path.basename(text) if text is not None else None


def renamed(paths: list[ast.expr], ctx: Context, use: Use) -> Iterator[RenameFile]:
    """Gives the file that all the paths name the suffix ``.pt2``, unless something else names it too."""
    found = [_literal(path, use, ctx) for path in paths]
    literals = [literal for literal in found if literal is not None and _has_suffix(literal)]
    if len(literals) < len(paths):
        return
    names = {_text(literal) for literal in literals}
    for node in ast.walk(ctx.source.tree):
        if isinstance(node, _LITERALS) and _text(node) in names and node not in literals:
            return
    for literal in dict.fromkeys(literals):
        yield RenameFile(literal, ".pt2")


def _has_suffix(literal: Literal) -> bool:
    last = literal.values[-1] if isinstance(literal, ast.JoinedStr) and literal.values else literal
    return (string(last) or "").endswith(_SUFFIXES)


def _text(literal: Literal) -> object:
    """What is equal for literals that say the same."""
    return literal.value if isinstance(literal, ast.Constant) else ast.dump(literal)


def _literal(path: ast.expr, use: Use, ctx: Context) -> Literal | None:
    """The string literal that a path ends with."""
    if isinstance(path, ast.JoinedStr) or (isinstance(path, ast.Constant) and isinstance(path.value, str)):
        return path
    if isinstance(path, ast.BinOp):
        return _literal(path.right, use, ctx)
    if isinstance(path, ast.Call) and path.args and leaf(path.func) in ("join", "Path", "str", "joinpath"):
        return _literal(path.args[-1], use, ctx)
    if isinstance(path, ast.Name):
        return _of_variable(path, use, ctx)
    return None


def _of_variable(name: ast.Name, use: Use, ctx: Context) -> Literal | None:
    """The literal in a variable that only saves and loads read."""
    owner = use.place.scope.find(name.id)
    value = ctx.uses.flow.definition(name, use.place.scope)
    if owner is not use.place.scope or value is None:
        return None
    reaching = ctx.uses.flow.reaching(name.id, owner)
    parents = ctx.uses.flow.parents
    around = [parents[read] for read in reaching.reads]
    calls = [parents[node] if isinstance(node, ast.keyword) else node for node in around]
    if reaching.captured or len(reaching.bindings) != 1:
        return None
    known = {"save", "load"}
    if not all(isinstance(call, ast.Call) and leaf(call.func) in known for call in calls):
        return None
    return _literal(value, use, ctx) if not isinstance(value, ast.Name) else None
