"""Example inputs from the first layer on the path of ``forward``: ``nn.Linear(16, 4)`` takes ``torch.zeros(2, 16)``.

Only where every layer after it takes what it gives, and no size is made up that the model would fix: a recurrent layer fixes
the length of its sequence (torch 2.13: "Guard failed"), and a linear one behind convolutions the size of the image.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torchmigrate.rewrite.changes import Template, template
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import walk_nodes

from .made_inputs import MadeInputs, make_inputs
from .module_classes import get_method

if TYPE_CHECKING:
    from .result_chain import ResultChain

_FIRST = {
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
_RECURRENT = re.compile(r"(LSTM|GRU|RNN)(Cell)?")
_ANY_IMAGE = re.compile(r"[Aa]daptive_?(Avg|avg|Max|max)_?[Pp]ool|mean")
"""What makes features of an image of any size."""
_OF_MORE_DIMENSIONS = re.compile(
    r"Conv|Attention|Transformer|Encoder|BatchNorm2d|permute|transpose|einsum|bmm|unflatten|unsqueeze|reshape|view|size|shape"
)


def find_layer_inputs(model: ast.expr, definition: ast.ClassDef, chain: ResultChain) -> MadeInputs | None:
    """Return inputs that fit the first layer that ``forward`` passes its only input to; None where that is unclear."""
    forward, init = get_method(definition, "forward"), get_method(definition, "__init__")
    if (
        forward is None
        or init is None
        or forward.args.vararg
        or forward.args.kwarg
        or forward.args.kwonlyargs
    ):
        return None
    needed = forward.args.args[1 : len(forward.args.args) - len(forward.args.defaults)]
    if len(needed) != 1:
        return None
    layer = _find_first_layer(needed[0].arg, forward)
    found = _find_layer(layer, init) if layer is not None else None
    if found is None or layer is None:
        return None
    made, path = found
    kind = last_name(made.func) or ""
    if kind not in _FIRST or not _is_free(kind, definition, chain):
        return None
    attribute, others = _FIRST[kind]
    origin = f"the example inputs follow the first layer, `{layer.attr}`"
    if kind == "Embedding":
        return make_inputs([((2, *others), "int64")], model, origin, chain)
    size = find_argument(made, 0, attribute)
    if isinstance(size, ast.Constant) and isinstance(size.value, int):
        return make_inputs([((2, size.value, *others), "float32")], model, origin, chain)
    if not isinstance(model, (ast.Name, ast.Attribute)):
        return None
    written: Template = template(f"{{model}}.{path}.{attribute}", model=model)
    return make_inputs([((2, written, *others), "float32")], model, origin, chain)


def _find_first_layer(name: str, forward: ast.FunctionDef) -> ast.Attribute | None:
    """Return ``self.layer`` where the first use of the input is to pass it to that layer."""
    reads = [node for node in walk_nodes(forward) if isinstance(node, ast.Name) and node.id == name]
    reads = [node for node in reads if isinstance(node.ctx, ast.Load)]
    calls = [node for node in walk_nodes(forward) if isinstance(node, ast.Call) and node.args]
    first = min(reads, key=lambda node: (node.lineno, node.col_offset), default=None)
    for call in calls:
        if call.args[0] is first and len(call.args) == 1 and not call.keywords:
            called = call.func
            if isinstance(called, ast.Attribute) and last_name(called.value) == "self":
                return called
    return None


def _find_layer(layer: ast.Attribute, init: ast.FunctionDef) -> tuple[ast.Call, str] | None:
    """Return the call that makes a layer, and the path of attributes to it; of a sequence, its first real layer."""
    values = _find_values(f"self.{layer.attr}", init)
    made = values[0] if len(values) == 1 else None
    if not isinstance(made, ast.Call):
        return None
    if last_name(made.func) != "Sequential":
        return made, layer.attr
    parts: list[ast.expr] = [*made.args]
    if len(parts) == 1 and isinstance(parts[0], ast.Starred) and isinstance(parts[0].value, ast.Name):
        parts = _find_listed(parts[0].value.id, init)
    for index, part in enumerate(parts):
        name = last_name(part.func) if isinstance(part, ast.Call) else None
        if name in _FIRST and isinstance(part, ast.Call):
            return part, f"{layer.attr}[{index}]"
        if name is None or not (_PASSING.fullmatch(name) or name == "Flatten"):
            break
    return None


def _find_values(target: str, init: ast.FunctionDef) -> list[ast.expr]:
    return [
        node.value
        for node in walk_nodes(init)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None
        for one in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if ast.unparse(one) == target
    ]


def _find_listed(name: str, init: ast.FunctionDef) -> list[ast.expr]:
    """Return the first elements of a list of layers: those that it is made with, or the first one that is appended."""
    values = _find_values(name, init)
    first = values[0] if values else None
    if isinstance(first, ast.List) and first.elts:
        return first.elts
    for statement in init.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and ast.unparse(call.func) == f"{name}.append" and call.args:
            return call.args
        if isinstance(statement, (ast.For, ast.While, ast.If)):
            break
    return []


def _is_free(kind: str, definition: ast.ClassDef, chain: ResultChain) -> bool:
    """Return whether the class fixes no size that the first layer leaves open, as far as the names in it show."""
    names = [
        last_name(node) or ""
        for node in walk_nodes(definition)
        if isinstance(node, (ast.Attribute, ast.Name))
    ]
    if any(_RECURRENT.fullmatch(name) for name in names):
        return False
    if kind == "Linear":
        # A row of numbers: nothing asks for more dimensions than two.
        return not any(_OF_MORE_DIMENSIONS.search(name) for name in names)
    if kind == "Embedding":
        return True
    return "Linear" not in names or any(_ANY_IMAGE.search(name) for name in names)
