"""Whether a module computes another result in training than in eval mode."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import walk_nodes

from .module_classes import find_making_call, find_model_class

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_MODAL = re.compile(
    r"training|.*[Dd]ropout.*|.*(Batch|Instance)Norm.*|RReLU|rrelu|.*Transformer.*|MultiheadAttention|LSTM|GRU|RNN"
)
"""Names of what depends on the mode, or may, by an argument such as ``dropout=0.1``."""
_PLAIN = re.compile(
    r"Linear|Bilinear|Conv(Transpose)?[123]d|Embedding(Bag)?|LayerNorm|GroupNorm|RMSNorm|LocalResponseNorm|Sequential"
    r"|Module(List|Dict)|Parameter(List|Dict)?|Identity|Flatten|Unflatten|Upsample\w*|Pixel(Unsh|Sh)uffle|(Adaptive)?(Avg|Max)Pool[123]d"
    r"|ReLU6?|LeakyReLU|PReLU|ELU|CELU|SELU|GELU|SiLU|Mish|Tanh|Sigmoid|Softplus|Softmax2?d?|LogSoftmax|Hard\w+|ZeroPad\w*|\w+Pad[123]d"
    r"|(LSTM|GRU|RNN)Cell|super|Tensor"
)
_DEPTH = 6


def depends_on_mode(model: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether the mode of a module may change what it computes; true where its class is not seen."""
    definition = find_model_class(model, use, ctx)
    if definition is not None:
        return _is_modal(definition, ctx, _DEPTH)
    made = find_making_call(model, use, ctx)
    return made is None or _is_modal(made, ctx, _DEPTH)


def names_modal_layers(root: ast.AST) -> bool:
    """Return whether code names a layer whose result depends on the mode."""
    return any(_MODAL.fullmatch(last_name(node) or "") for node in walk_nodes(root))


def _is_modal(root: ast.AST, ctx: Context, depth: int) -> bool:
    """Return whether code that makes or is a module names anything that depends on the mode, or that is not known."""
    if depth == 0:
        return True
    classes = ctx.uses.compute_once("classes", lambda: _collect_classes(ctx))
    for node in walk_nodes(root):
        name = last_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        if name is not None and _MODAL.fullmatch(name) and not name.endswith("Cell"):
            return True
        made = last_name(node.func) if isinstance(node, ast.Call) else None
        if made is None or not made[0].isupper() or _PLAIN.fullmatch(made):
            continue
        own = classes.get(made)
        if own is None or own is root or _is_modal(own, ctx, depth - 1):
            return True
    bases = root.bases if isinstance(root, ast.ClassDef) else []
    return any(last_name(base) not in ("Module", "object") for base in bases)


def _collect_classes(ctx: Context) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in ctx.uses.data_flow.parents if isinstance(node, ast.ClassDef)}
