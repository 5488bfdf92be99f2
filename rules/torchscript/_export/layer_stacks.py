"""The first layer of a stack of layers, as the code that makes it shows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import walk_nodes

from .project_definitions import find_definition

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
    found = find_definition(value.func, file, ctx)
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
        parts = _find_listed(parts[0].value.id, function)
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


def _find_listed(name: str, function: ast.FunctionDef) -> list[ast.expr]:
    """Return the first elements of a list of layers: those that it is made with, or the first one that is appended."""
    first = next(find_values(name, function), None)
    if isinstance(first, ast.List) and first.elts:
        return first.elts
    for statement in function.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and ast.unparse(call.func) == f"{name}.append" and call.args:
            return call.args
        is_compound = isinstance(statement, (ast.For, ast.While, ast.If))
        if is_compound and any(last_name(node) == name for node in walk_nodes(statement)):
            break
    return []
