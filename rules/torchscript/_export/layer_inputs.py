"""Example inputs from the first layer on the path of ``forward``: ``nn.Linear(16, 4)`` takes ``torch.zeros(2, 16)``.

Only where every layer after it takes what it gives, and no size is made up that the model would fix: a recurrent layer fixes
the length of its sequence (torch 2.13: "Guard failed"), and a linear one behind convolutions the size of the image.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torchmigrate.project.indexed_file import index_file
from torchmigrate.rewrite.changes import Template, template
from torchmigrate.semantics.call_arguments import find_argument

from .first_layers import FirstLayer, collect_names, find_first_layer
from .layer_stacks import FIRST_LAYERS
from .made_inputs import MadeInputs, make_inputs
from .module_classes import find_class_file, get_method

if TYPE_CHECKING:
    from .result_chain import ResultChain

_RECURRENT = re.compile(r"(LSTM|GRU|RNN)(Cell)?")
_ANY_IMAGE = re.compile(r"[Aa]daptive_?(Avg|avg|Max|max)_?[Pp]ool|mean")
"""What makes features of an image of any size."""
_OF_MORE_DIMENSIONS = re.compile(
    r"Conv|Attention|Transformer|Encoder|BatchNorm2d|permute|transpose|einsum|bmm|unflatten|unsqueeze|reshape|view|size|shape"
)


def find_layer_inputs(model: ast.expr, definition: ast.ClassDef, chain: ResultChain) -> MadeInputs | None:
    """Return inputs that fit the first layers that ``forward`` passes its inputs to; None where that is unclear."""
    forward = get_method(definition, "forward")
    path = find_class_file(definition, chain.ctx)
    file = index_file(chain.ctx.project, path) if path is not None else None
    if (
        forward is None
        or file is None
        or forward.args.vararg
        or forward.args.kwarg
        or forward.args.kwonlyargs
    ):
        return None
    needed = forward.args.args[1 : len(forward.args.args) - len(forward.args.defaults)]
    found = [find_first_layer(one.arg, forward, definition, file, chain) for one in needed]
    layers = [layer for layer in found if layer is not None]
    kinds = {layer.kind for layer in layers}
    if len(layers) != len(found) or len(kinds) != 1:
        return None
    if not _is_free(kinds.pop(), collect_names(definition, file, chain)):
        return None
    tensors = [_describe_input(layer, model) for layer in layers]
    known = [tensor for tensor in tensors if tensor is not None]
    names = ", ".join(f"`{layer.path.removeprefix('.')}`" for layer in layers)
    origin = f"the example inputs follow the first layer{'s' * (len(layers) > 1)}, {names}"
    return make_inputs(known, model, origin, chain) if len(known) == len(tensors) else None


def _describe_input(layer: FirstLayer, model: ast.expr) -> tuple[tuple[int | Template, ...], str] | None:
    """Return the sizes and the dtype of an input that a layer takes; None where the code cannot ask the layer."""
    attribute, others = FIRST_LAYERS[layer.kind]
    if layer.kind == "Embedding":
        return (2, *others), "int64"
    size = find_argument(layer.made, 0, attribute) if layer.made is not None else None
    if isinstance(size, ast.Constant) and isinstance(size.value, int):
        return (2, size.value, *others), "float32"
    if not isinstance(model, (ast.Name, ast.Attribute)):
        return None
    return (2, template(f"{{model}}{layer.path}.{attribute}", model=model), *others), "float32"


def _is_free(kind: str, names: set[str]) -> bool:
    """Return whether a module fixes no size that the first layer leaves open, as far as the names in its classes show."""
    if any(_RECURRENT.fullmatch(name) for name in names):
        return False
    if kind == "Linear":
        # A row of numbers: nothing asks for more dimensions than two.
        return not any(_OF_MORE_DIMENSIONS.search(name) for name in names)
    if kind == "Embedding":
        return True
    return "Linear" not in names or any(_ANY_IMAGE.search(name) for name in names)
