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

from .attribute_inputs import find_kept_attribute, find_linear_layer
from .layer_stacks import FIRST_LAYERS, find_layer, find_values
from .made_inputs import MadeInputs, make_inputs
from .module_classes import get_method

if TYPE_CHECKING:
    from .result_chain import ResultChain

_NORMALIZER = re.compile(r"normaliz", re.IGNORECASE)
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
    if layer is None:
        return None
    origin = f"the example inputs follow the first layer, `{layer.attr}`"
    index = _find_copied_index(layer.attr, init, chain)
    made = None
    if index is None and (found := find_layer(f"self.{layer.attr}", init)) is not None:
        made, index = found
    kind = "Linear" if made is None else last_name(made.func)
    if index is None or kind not in FIRST_LAYERS or not _is_free(kind, definition, chain):
        return None
    attribute, others = FIRST_LAYERS[kind]
    if kind == "Embedding":
        return make_inputs([((2, *others), "int64")], model, origin, chain)
    size = find_argument(made, 0, attribute) if made is not None else None
    if isinstance(size, ast.Constant) and isinstance(size.value, int):
        return make_inputs([((2, size.value, *others), "float32")], model, origin, chain)
    if not isinstance(model, (ast.Name, ast.Attribute)):
        return None
    written: Template = template(f"{{model}}.{layer.attr}{index}.{attribute}", model=model)
    return make_inputs([((2, written, *others), "float32")], model, origin, chain)


def _find_first_layer(name: str, forward: ast.FunctionDef) -> ast.Attribute | None:
    """Return ``self.layer`` where the first use of the input is to pass it to that layer."""
    reads = [node for node in walk_nodes(forward) if isinstance(node, ast.Name) and node.id == name]
    reads = [node for node in reads if isinstance(node.ctx, ast.Load)]
    calls = [node for node in walk_nodes(forward) if isinstance(node, ast.Call) and node.args]
    value: ast.expr | None = min(reads, key=lambda node: (node.lineno, node.col_offset), default=None)
    passed = {call.args[0]: call for call in calls if len(call.args) == 1 and not call.keywords}
    while value in passed:
        value = passed[value]
        called = value.func
        if not isinstance(called, ast.Attribute) or last_name(called.value) != "self":
            return None
        if not _NORMALIZER.search(called.attr):  # which keeps the sizes
            return called
    return None


def _find_copied_index(name: str, init: ast.FunctionDef, chain: ResultChain) -> str | None:
    """Return the index of the first layer of a stack that is copied from another object."""
    values = find_values(f"self.{name}", init)
    kept = find_kept_attribute(values[0], chain) if len(values) == 1 else None
    return find_linear_layer(kept.attr, chain.ctx) if kept is not None else None


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
