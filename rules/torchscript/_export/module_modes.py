"""Whether a module computes another result in training than in eval mode."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.project.indexed_file import IndexedFile, index_file
from torchmigrate.project.project_definitions import find_definition
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import walk_nodes

from .module_classes import find_class_file, find_making_call, find_model_class, get_method

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

    from .result_chain import ResultChain

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
_BASES = frozenset({"Module", "object", "LightningModule"})
_DEPTH = 6


def depends_on_mode(model: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether the mode of a module may change what it computes; true where its class is not seen."""
    root: ast.AST | None = find_model_class(model, use, ctx)
    path: str | None = os.path.abspath(ctx.source.path)
    if isinstance(root, ast.ClassDef):
        path = find_class_file(root, ctx)
    else:
        root = find_making_call(model, use, ctx)
    file = index_file(ctx.project, path) if path is not None else None
    return root is None or file is None or _is_modal(root, file, ctx, _DEPTH)


def is_free_for_eval(model: ast.expr, chain: ResultChain) -> bool:
    """Return whether a module may be put into eval mode where it is scripted, since nothing uses it or the result afterwards.

    So it is where the scope itself makes it, no loop comes back to it, and the result is only saved or shown.
    """
    if chain.modules:
        return False
    owner = chain.scope.find_scope(model.id) if isinstance(model, ast.Name) else None
    if owner is not chain.scope or not isinstance(model, ast.Name):
        return False
    bindings = owner.bindings[model.id]
    if any(isinstance(binding.node, ast.arg) for binding in bindings) or len(bindings) != 1:
        return False
    around = chain.use.place.enclosing_statements()
    if any(isinstance(one, (ast.For, ast.AsyncFor, ast.While)) for one in around):
        return False
    first, parents = chain.use.place.statement.lineno, chain.flow.parents
    last = chain.use.place.statement.end_lineno or first
    for node in parents:
        if not isinstance(node, ast.Name) or node.id != model.id or not isinstance(node.ctx, ast.Load):
            continue
        is_asked = isinstance(parents[node], ast.Attribute) or getattr(parents[node], "func", None) is node
        # What gets the module above, such as a trainer, may go on with it.
        is_handed_on = node.lineno < first and not is_asked
        if (node.lineno > last or is_handed_on) and chain.ctx.uses.scope_of(node).find_scope(
            model.id
        ) is owner:
            return False
    return True


def names_modal_layers(root: ast.AST) -> bool:
    """Return whether code names a layer whose result depends on the mode."""
    return any(_MODAL.fullmatch(last_name(node) or "") for node in walk_nodes(root))


def _is_modal(root: ast.AST, file: IndexedFile, ctx: Context, depth: int) -> bool:
    """Return whether code that makes or is a module names anything that depends on the mode, or that is not known."""
    if depth == 0:
        return True
    parts = [*_find_methods(root)] if isinstance(root, ast.ClassDef) else [root]
    for node in (node for part in parts for node in walk_nodes(part)):
        name = last_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        if name is not None and _MODAL.fullmatch(name) and not name.endswith("Cell"):
            return True
        made = last_name(node.func) if isinstance(node, ast.Call) else None
        if made is None or not made[0].isupper() or _PLAIN.fullmatch(made) or not isinstance(node, ast.Call):
            continue
        own = find_definition(node.func, file, ctx.project)
        if own is None or own[0] is root or _is_modal(*own, ctx, depth - 1):
            return True
    bases = root.bases if isinstance(root, ast.ClassDef) else []
    return any(last_name(base) not in _BASES for base in bases)


def _find_methods(definition: ast.ClassDef) -> Iterator[ast.FunctionDef]:
    """Yield the methods that make the parts of a module and compute its result: `__init__`, `forward`, and what they call."""
    left, found = ["__init__", "forward"], set[str]()
    while left:
        name = left.pop()
        method = get_method(definition, name)
        if method is None or name in found:
            continue
        found.add(name)
        yield method
        left += [node.attr for node in walk_nodes(method) if isinstance(node, ast.Attribute)]
