"""The first layer of a stack of layers, as ``__init__`` makes it."""

from __future__ import annotations

import ast
import re

from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import walk_nodes

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


def find_layer(target: str, init: ast.FunctionDef) -> tuple[ast.Call, str] | None:
    """Return the call that makes the layer ``self.name``; of a sequence, its first real layer and the index of that, ``[0]``."""
    values = find_values(target, init)
    made = values[0] if len(values) == 1 else None
    if not isinstance(made, ast.Call):
        return None
    if last_name(made.func) != "Sequential":
        return made, ""
    parts: list[ast.expr] = [*made.args]
    if len(parts) == 1 and isinstance(parts[0], ast.Starred) and isinstance(parts[0].value, ast.Name):
        parts = _find_listed(parts[0].value.id, init)
    for index, part in enumerate(parts):
        name = last_name(part.func) if isinstance(part, ast.Call) else None
        if name in FIRST_LAYERS and isinstance(part, ast.Call):
            return part, f"[{index}]"
        if name is None or not (_PASSING.fullmatch(name) or name == "Flatten"):
            break
    return None


def find_values(target: str, init: ast.FunctionDef) -> list[ast.expr]:
    return [
        node.value
        for node in walk_nodes(init)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
        for one in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if ast.unparse(one) == target
    ]


def _find_listed(name: str, init: ast.FunctionDef) -> list[ast.expr]:
    """Return the first elements of a list of layers: those that it is made with, or the first one that is appended."""
    values = find_values(name, init)
    first = values[0] if values else None
    if isinstance(first, ast.List) and first.elts:
        return first.elts
    for statement in init.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and ast.unparse(call.func) == f"{name}.append" and call.args:
            return call.args
        is_compound = isinstance(statement, (ast.For, ast.While, ast.If))
        if is_compound and any(last_name(node) == name for node in walk_nodes(statement)):
            break
    return []
