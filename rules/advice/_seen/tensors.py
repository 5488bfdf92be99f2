"""Which expressions are tensors for certain."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchmigrate.semantics.resolve import leaf

from .nodes import Function, body_around, own

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.scopes import Scope

_ASKED = frozenset(
    {"shape", "size", "ndim", "dim", "dtype", "device", "unbind", "transpose", "mT", "view", "reshape"}
)
"""What code asks of a tensor (some of it of an array), and never of a list."""

_REDUCTIONS = frozenset(
    {"sum", "mean", "max", "min", "norm", "amax", "amin", "prod", "std", "var", "abs", "argmax", "argmin"}
)
_TESTS = frozenset({"any", "all", "isnan", "isfinite", "isinf"})
_PYTHON = frozenset({"torch.is_tensor", "torch.equal", "torch.allclose", "torch.is_grad_enabled"})
_DEPTH = 4


def is_batch(node: ast.expr, use: Use, ctx: Context, depth: int = _DEPTH) -> bool:
    """Whether an expression near ``use`` is one tensor, not a list of some."""
    if depth == 0:
        return False
    if isinstance(node, ast.Name):
        return _is_annotated(node, use) or _is_asked(node, use, ctx) or _is_made(node, use, ctx, depth)
    if isinstance(node, ast.Call):
        resolved = ctx.resolve(node.func, use)
        return (
            resolved is not None
            and resolved.names[0].startswith("torch.")
            and leaf(node.func) not in _SEVERAL
        )
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)


_SEVERAL = frozenset({"unbind", "split", "chunk", "tensor_split", "load", "list", "compile"})


def _is_annotated(node: ast.Name, use: Use) -> bool:
    for outer in use.place.ancestors():
        if isinstance(outer, Function):
            arguments = outer.args
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                if argument.arg == node.id:
                    return argument.annotation is not None and leaf(argument.annotation) == "Tensor"
            return False
    return False


def _is_asked(node: ast.Name, use: Use, ctx: Context) -> bool:
    return any(
        isinstance(part, ast.Attribute)
        and part.attr in _ASKED
        and isinstance(part.value, ast.Name)
        and part.value.id == node.id
        for part in own(body_around(use, ctx))
    )


def _is_made(node: ast.Name, use: Use, ctx: Context, depth: int) -> bool:
    value = ctx.uses.flow.definition(node, use.place.scope)
    return value is not None and is_batch(value, use, ctx, depth - 1)


def is_test(node: ast.expr, use: Use, ctx: Context, scope: Scope) -> bool:
    """Whether a condition in ``scope`` has to read a tensor's values: ``x.sum() > 0``, ``torch.isnan(x).any()``."""
    if isinstance(node, ast.Name):
        value = ctx.uses.flow.definition(node, scope)
        if value is None:
            return _is_given(node, scope)
        return not isinstance(value, ast.Name) and is_test(value, use, ctx, scope)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return is_test(node.operand, use, ctx, scope)
    if isinstance(node, ast.BoolOp):
        return all(is_test(value, use, ctx, scope) for value in node.values)
    if isinstance(node, ast.Compare):
        ordered = all(isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) for op in node.ops)
        return (ordered or _is_number(node)) and any(
            _is_scalar(part, use, ctx, scope) for part in (node.left, *node.comparators)
        )
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "bool"
        and node.args
    ):
        return is_test(node.args[0], use, ctx, scope)
    return isinstance(node, ast.Call) and leaf(node.func) in _TESTS and _is_scalar(node, use, ctx, scope)


def _is_given(node: ast.Name, scope: Scope) -> bool:
    """Whether a name is a parameter that is annotated as a tensor, needs a value, and is bound nowhere else."""
    if not isinstance(scope.node, Function) or len(scope.bindings.get(node.id, ())) != 1:
        return False
    arguments = scope.node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    needed = plain[: len(plain) - len(arguments.defaults)]
    return any(
        one.arg == node.id and one.annotation is not None and leaf(one.annotation) == "Tensor"
        for one in needed
    )


def _is_number(node: ast.Compare) -> bool:
    """Whether one value is held against a number: ``x.sum() == 0``."""
    (right, *others) = node.comparators
    equal = isinstance(node.ops[0], (ast.Eq, ast.NotEq)) and not others
    return equal and isinstance(right, ast.Constant) and type(right.value) in (int, float)


def _is_scalar(node: ast.expr, use: Use, ctx: Context, scope: Scope) -> bool:
    """Whether an expression reduces a tensor to one value, itself or where its variable is set."""
    if isinstance(node, ast.Name):
        value = ctx.uses.flow.definition(node, scope)
        return isinstance(value, ast.Call) and _is_scalar(value, use, ctx, scope)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    resolved = ctx.resolve(node.func, use)
    if resolved is not None:
        name = resolved.names[0]
        return name.startswith("torch.") and name not in _PYTHON and leaf(node.func) in _REDUCTIONS | _TESTS
    if node.func.attr == "item" and not node.args:
        return not any(map(_is_size, ast.walk(node.func.value)))
    return node.func.attr in _REDUCTIONS | _TESTS and not any(map(_is_size, ast.walk(node.func.value)))


def _is_size(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in ("shape", "size", "numel", "ndim", "np", "numpy")
