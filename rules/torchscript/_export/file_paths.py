"""The paths of saved files: which of them name the same file, and how a file gets another suffix."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torchmigrate.rewrite.changes import RenameFile
from torchmigrate.semantics.model_files import (
    PathLiteral,
    find_path_literal,
    is_buffer,
)
from torchmigrate.semantics.name_resolution import string_value

from .path_literals import find_literal, find_name, find_pattern, may_be_equal

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

    from .result_chain import ResultChain

_LITERALS = (ast.Constant, ast.JoinedStr)
SUFFIXES = (".pt", ".pth", ".ptl", ".ts", ".jit", ".torchscript", ".script")
"""The suffixes of files that hold TorchScript."""


def is_same_file(path: ast.expr | None, other: ast.expr, use: Use, chain: ResultChain) -> bool:
    """Return whether two expressions name the same file: equal literals, the same code in one scope, or the same name."""
    if path is None:
        return False
    if isinstance(path, ast.Constant) and isinstance(other, ast.Constant):
        return bool(path.value == other.value)
    if (
        use.place.scope is chain.scope
        and ast.dump(path) == ast.dump(other)
        and _has_same_value(path, other, chain)
    ):
        return True
    name = find_name(path, use, chain.ctx)
    return name is not None and name == find_name(other, chain.use, chain.ctx)


def _has_same_value(path: ast.expr, other: ast.expr, chain: ResultChain) -> bool:
    """Return whether equal code gives the same path at both places: a variable may be assigned again in between."""
    names = [one for one in (path, other) if isinstance(one, ast.Name)]
    values = [chain.flow.find_definition(name, chain.scope) for name in names]
    spelled = {ast.dump(value) for value in values if value is not None}
    return None in values or len(spelled) < 2


def may_be_same_file(path: ast.expr | None, other: ast.expr, use: Use, chain: ResultChain) -> bool:
    """Return whether the ``path`` that ``use`` loads may be the file that a chain saves to ``other``, in whatever scope.

    It is another file where the code spells both names and they differ, and where one is a buffer in memory.
    """
    if is_buffer(path, use, chain.ctx.uses) or is_buffer(other, chain.use, chain.ctx.uses):
        return False
    # Names only: the same folder may be spelled in many ways.
    one = find_name(path, use, chain.ctx) or find_pattern(path, chain.ctx)
    return may_be_equal(one, find_name(other, chain.use, chain.ctx) or find_pattern(other, chain.ctx))


def is_temporary(path: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether a file does not outlive the program: a buffer in memory, or one with "temp" or "tmp" in its path."""
    if is_buffer(path, use, ctx.uses):
        return True
    names = [node for node in ast.walk(path) if isinstance(node, ast.Name)]
    values = [ctx.uses.data_flow.find_definition(name, use.place.scope) for name in names]
    text = " ".join(ast.unparse(node) for node in (path, *(value for value in values if value is not None)))
    return re.search(r"(?i)te?mp", text) is not None


def create_renames(paths: list[ast.expr], ctx: Context, use: Use, suffix: str = ".pt2") -> list[RenameFile]:
    """Return the changes that give the file of all the paths another suffix.

    Empty where another literal in the module equals the one of a path.
    """
    found = [
        find_path_literal(path, use, ctx.uses) or find_literal(path, ctx.uses.scope_of(path), ctx)
        for path in paths
    ]
    literals = [literal for literal in found if literal is not None and _has_suffix(literal)]
    if len(literals) < len(paths):
        return []
    spelled = ctx.uses.compute_once(_group_literals, lambda: _group_literals(ctx.source.syntax_tree))
    if any(node not in literals for literal in literals for node in spelled[_literal_key(literal)]):
        return []
    return [RenameFile(literal, suffix) for literal in dict.fromkeys(literals)]


def _group_literals(tree: ast.AST) -> dict[object, list[ast.AST]]:
    literals: dict[object, list[ast.AST]] = {}
    for node in ast.walk(tree):
        if isinstance(node, _LITERALS):
            literals.setdefault(_literal_key(node), []).append(node)
    return literals


def _has_suffix(literal: PathLiteral) -> bool:
    last = literal.values[-1] if isinstance(literal, ast.JoinedStr) and literal.values else literal
    return (string_value(last) or "").endswith(SUFFIXES)


def _literal_key(literal: PathLiteral) -> object:
    """Return a key that is equal for equal literals."""
    return literal.value if isinstance(literal, ast.Constant) else ast.dump(literal)
