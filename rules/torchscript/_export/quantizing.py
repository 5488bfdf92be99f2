"""Whether what is traced is quantized in eager or FX mode: its packed weights are objects of C++, which an export refuses.

Torch 2.13: `torch.export.export` of what `convert`, `convert_fx` or `quantize_dynamic` give raises AttributeError
("does not have a field with name '__obj_flatten__'").
"""

from __future__ import annotations

import ast

from torchmigrate.api import NoFix
from torchmigrate.semantics.calls import argument
from torchmigrate.semantics.nodes import walk
from torchmigrate.semantics.resolve import leaf

from .chain import Chain

_PACKS = frozenset({"convert", "convert_fx", "quantize", "quantize_qat", "quantize_dynamic"})
_MODULES = ("torch.ao.quantization.", "torch.quantization.")


def check(model: ast.expr, made: ast.AST | None, chain: Chain) -> None:
    """Raises NoFix where ``model``, that ``made`` gives, is quantized in the scope of its trace, also in place."""
    scope, name = chain.scope.node, ast.unparse(model)
    for node in chain.ctx.uses.once((_calls, scope), lambda: _calls(scope)):
        resolved = chain.ctx.resolve(node.func, chain.use)
        if resolved is None or not resolved.names[0].startswith(_MODULES):
            continue
        given = argument(node, 0, "model")
        if node is made or (given is not None and ast.unparse(given) == name):
            raise NoFix(
                f"line {node.lineno} quantizes it, and an export refuses packed weights; quantize the exported program "
                "instead (torchao's `prepare_pt2e`, `convert_pt2e`)"
            )


def _calls(scope: ast.AST) -> list[ast.Call]:
    return [node for node in walk(scope) if isinstance(node, ast.Call) and leaf(node.func) in _PACKS]
