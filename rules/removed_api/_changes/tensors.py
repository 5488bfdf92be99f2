"""Which expressions certainly are tensors."""

from __future__ import annotations

import ast
from itertools import pairwise
from typing import TYPE_CHECKING

from torchmigrate.semantics.resolve import leaf

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_CLASSES = frozenset({"torch.Tensor", "torch.nn.Parameter", "torch.FloatTensor", "torch.DoubleTensor"})
_MAKERS = frozenset(
    f"torch.{name}()"
    for name in [
        "abs",
        "add",
        "arange",
        "as_tensor",
        "baddbmm",
        "block_diag",
        "bmm",
        "cat",
        "clone",
        "concat",
        "cos",
        "cov",
        "cumsum",
        "diag",
        "diag_embed",
        "div",
        "dot",
        "einsum",
        "empty",
        "empty_like",
        "exp",
        "eye",
        "from_numpy",
        "full",
        "full_like",
        "linspace",
        "log",
        "logspace",
        "matmul",
        "mean",
        "mm",
        "mul",
        "normal",
        "ones",
        "ones_like",
        "outer",
        "rand",
        "rand_like",
        "randint",
        "randint_like",
        "randn",
        "randn_like",
        "randperm",
        "reshape",
        "sin",
        "sqrt",
        "stack",
        "sub",
        "sum",
        "tensor",
        "tensordot",
        "transpose",
        "tril",
        "triu",
        "where",
        "zeros",
        "zeros_like",
    ]
)
"""What gives a tensor, whatever it is given."""
_SAME = frozenset(
    [
        "abs",
        "add",
        "addmm",
        "bmm",
        "clone",
        "contiguous",
        "cpu",
        "cuda",
        "detach",
        "div",
        "double",
        "exp",
        "expand",
        "flatten",
        "float",
        "half",
        "log",
        "matmul",
        "mean",
        "mm",
        "mul",
        "permute",
        "pow",
        "repeat",
        "requires_grad_",
        "reshape",
        "sqrt",
        "squeeze",
        "sub",
        "sum",
        "t",
        "to",
        "transpose",
        "tril",
        "triu",
        "type_as",
        "unsqueeze",
        "view",
    ]
)
"""Methods of tensors that give a tensor."""
_IN_PLACE = frozenset(
    [
        "add_",
        "addcdiv_",
        "addcmul_",
        "clamp_",
        "copy_",
        "div_",
        "fill_",
        "mul_",
        "neg_",
        "sqrt_",
        "sub_",
        "zero_",
    ]
)
"""Methods that tensors alone have, and that give them back."""
_PARTS = frozenset({"T", "mT", "H", "mH", "data", "real", "imag"})
_DEPTH = 8


def is_tensor(node: ast.expr, use: Use, ctx: Context, depth: int = _DEPTH) -> bool:
    """Whether an expression near ``use`` certainly is a tensor."""
    if depth == 0:
        return False
    if isinstance(node, ast.Name):
        value = ctx.uses.flow.definition(node, use.place.scope)
        known = is_tensor(value, use, ctx, depth - 1) if value is not None else _is_annotated(node, use, ctx)
        return known or _is_tested(node, use, ctx)
    if isinstance(node, ast.Call):
        resolved = ctx.resolve(node, use)
        if resolved is not None and resolved.certain and resolved.names[0] in _MAKERS:
            return True
        if leaf(node.func) in _IN_PLACE and isinstance(node.func, ast.Attribute):
            return True
        method = node.func if isinstance(node.func, ast.Attribute) and node.func.attr in _SAME else None
        return method is not None and is_tensor(method.value, use, ctx, depth - 1)
    if isinstance(node, ast.BinOp):
        return is_tensor(node.left, use, ctx, depth - 1) or is_tensor(node.right, use, ctx, depth - 1)
    if isinstance(node, ast.Attribute):
        return leaf(node) in _PARTS and is_tensor(node.value, use, ctx, depth - 1)
    return isinstance(node, ast.Subscript) and is_tensor(node.value, use, ctx, depth - 1)


def _is_annotated(name: ast.Name, use: Use, ctx: Context) -> bool:
    """Whether a name is a parameter that is annotated as a tensor, and nothing else."""
    owner = use.place.scope.find(name.id)
    bindings = owner.bindings[name.id] if owner is not None else []
    if len(bindings) != 1 or not isinstance(bindings[0].node, ast.arg):
        return False
    annotation = bindings[0].node.annotation
    resolved = ctx.resolve(annotation, use) if annotation is not None else None
    return resolved is not None and resolved.certain and resolved.names[0] in _CLASSES


def _is_tested(name: ast.Name, use: Use, ctx: Context) -> bool:
    """Whether the use stands below ``if isinstance(name, torch.Tensor):``, where nothing binds the name anew."""
    owner = use.place.scope.find(name.id)
    bound = {binding.node for binding in owner.bindings[name.id]} if owner is not None else set()
    for inner, outer in pairwise(use.place.outwards()):
        statement = outer.statement
        if isinstance(statement, ast.If) and inner.statement in statement.body:
            test = statement.test
            parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
            is_kept = bound.isdisjoint(node for below in statement.body for node in ast.walk(below))
            if is_kept and any(_says_tensor(part, name, use, ctx) for part in parts):
                return True
    return False


def _says_tensor(test: ast.expr, name: ast.Name, use: Use, ctx: Context) -> bool:
    match test:
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=tested), kind]):
            return tested == name.id and ctx.is_named(kind, use, *_CLASSES)
    return False
