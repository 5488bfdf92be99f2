"""The first layer of a stack of layers, as the code that makes it shows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchmigrate.project.project_definitions import find_definition
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import walk_nodes

if TYPE_CHECKING:
    from torchmigrate.api import Context
    from torchmigrate.project.indexed_file import IndexedFile

FIRST_LAYERS = {
    "Linear": ("in_features", ()),
    "Conv1d": ("in_channels", (1024,)),
    "Conv2d": ("in_channels", (64, 64)),
    "Conv3d": ("in_channels", (32, 32, 32)),
    "Embedding": ("", (8,)),
}
"""The layers that show what they take: the attribute with the size of their input, and sizes that do not matter."""
_PASSING = re.compile(
    r"(ReLU6?|LeakyReLU|ELU|SELU|GELU|SiLU|Mish|Tanh|Sigmoid|Softplus|Identity|(Feature)?(Alpha)?Dropout[123]?d?)"
)
"""Layers that take any size and keep it."""


def find_layer(
    value: ast.expr | None, function: ast.FunctionDef, file: IndexedFile, ctx: Context
) -> tuple[ast.Call, str] | None:
    """Return the call that makes a layer; of a stack, its first real layer and the index of that, such as ``[0]``.

    ``value`` is what ``function``, in ``file``, makes; a function of the project may make the stack for it.
    """
    if not isinstance(value, ast.Call):
        return None
    if last_name(value.func) == "Sequential":
        return _find_first(value.args, function)
    found = find_definition(value.func, file, ctx.project)
    maker = found[0] if found is not None else None
    if not isinstance(maker, ast.FunctionDef):
        return value, ""
    returned = [node.value for node in walk_nodes(maker) if isinstance(node, ast.Return)]
    if len(returned) == 1 and isinstance(returned[0], ast.Name):
        returned = [*find_values(returned[0].id, maker)]
    made = returned[0] if len(returned) == 1 else None
    is_stack = isinstance(made, ast.Call) and last_name(made.func) == "Sequential"
    return _find_first(made.args, maker) if is_stack and isinstance(made, ast.Call) else None


def _find_first(parts: Sequence[ast.expr], function: ast.FunctionDef) -> tuple[ast.Call, str] | None:
    """Return the first real layer among the arguments of a sequence, and its index."""
    if len(parts) == 1 and isinstance(parts[0], ast.Starred) and isinstance(parts[0].value, ast.Name):
        found = [_find_first(one, function) for one in _list_beginnings(parts[0].value.id, function)]
        same = {one and (last_name(one[0].func), one[1]) for one in found}
        return found[0] if len(same) == 1 else None
    for index, part in enumerate(parts):
        name = last_name(part.func) if isinstance(part, ast.Call) else None
        if name in FIRST_LAYERS and isinstance(part, ast.Call):
            return part, f"[{index}]"
        if name is None or not (_PASSING.fullmatch(name) or name == "Flatten"):
            break
    return None


def find_values(target: str, function: ast.FunctionDef) -> Iterator[ast.expr]:
    """Yield the values that a function assigns to a variable or attribute."""
    for node in walk_nodes(function):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(ast.unparse(one) == target for one in targets):
                yield node.value


def _list_beginnings(name: str, function: ast.FunctionDef) -> list[list[ast.expr]]:
    """Return what a list of layers may begin with: the elements that it is made with, or those that are added first."""
    for block in _iter_blocks(function):
        for number, statement in enumerate(block):
            value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
            targets = (
                statement.targets
                if isinstance(statement, ast.Assign)
                else [getattr(statement, "target", None)]
            )
            if isinstance(value, ast.List) and any(
                last_name(one) == name for one in targets if one is not None
            ):
                return [value.elts] if value.elts else _list_first_added(block[number + 1 :], name)[0]
    return []


def _iter_blocks(root: ast.AST) -> Iterator[list[ast.stmt]]:
    """Yield the lists of statements in a function, outer ones first."""
    for node in walk_nodes(root):
        yield from (
            block
            for _, block in ast.iter_fields(node)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt)
        )


def _list_first_added(block: Sequence[ast.stmt], name: str) -> tuple[list[list[ast.expr]], bool]:
    """Return the elements that statements may be the first to add to a list, and whether they certainly add some."""
    found: list[list[ast.expr]] = []
    for statement in block:
        inner = [one for field in ("body", "orelse") if (one := getattr(statement, field, None))]
        parts = [_list_first_added(one, name) for one in inner]
        if not inner and (added := _find_added(statement, name)) is not None:
            return [*found, added], True
        found += [one for added_there, _ in parts for one in added_there]
        if isinstance(statement, ast.If) and len(parts) == 2 and all(is_certain for _, is_certain in parts):
            return found, True
    return found, False


def _find_added(statement: ast.stmt, name: str) -> list[ast.expr] | None:
    """Return the elements that a statement adds to the end of a list; None where it does not use the list."""
    match statement:
        case ast.Expr(
            value=ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="append"), args=args)
        ) if owner == name:
            return args
        case ast.Expr(
            value=ast.Call(
                func=ast.Attribute(value=ast.Name(id=owner), attr="extend"), args=[ast.List(elts=elts)]
            )
        ) if owner == name:
            return elts
        case ast.AugAssign(target=ast.Name(id=owner), op=ast.Add(), value=ast.List(elts=elts)) if (
            owner == name
        ):
            return elts
    return [] if any(last_name(node) == name for node in walk_nodes(statement)) else None
