"""Whether a function has something that a trace would freeze: control flow, or numbers made from tensors."""

from __future__ import annotations

import ast

from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.node_walks import Function

_STATIC_TYPES = frozenset({"bool", "str"})
_STATIC_CALLS = frozenset(
    {"isinstance", "hasattr", "is_scripting", "is_tracing", "dim", "is_cuda", "is_floating_point"}
)
_NUMBERS = frozenset({"int", "float", "bool", "len", "tensor"})
_CONVERSIONS = frozenset({"item", "tolist", "tensor"})
_STATIC_ATTRIBUTES = frozenset({"ndim", "dtype", "device", "is_cuda", "requires_grad", "training"})


def depends_on_values(function: Function) -> bool:
    """Return whether a loop, a branch or a number may depend on the value or the size of a tensor.

    Tests for None, of types, and of flags (parameters annotated as bool or str) do not count, and neither do loops over literals.
    Numbers are the results of `int`, `.item()` and the like, and the arguments of `torch.tensor`: a trace keeps the values that
    they have during the trace.
    """
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    flags = {
        a.arg for a in arguments if a.annotation is not None and ast.unparse(a.annotation) in _STATIC_TYPES
    }
    for node in ast.walk(function):
        if isinstance(node, (ast.If, ast.IfExp)) and not _is_static(node.test, flags):
            return True
        if isinstance(node, ast.While) and not isinstance(node.test, ast.Constant):
            return True
        if isinstance(node, (ast.For, ast.comprehension)) and not _is_counted(node.iter):
            return True
        if isinstance(node, ast.Call) and _is_frozen(node):
            return True
    return False


def calls_autograd(function: Function) -> bool:
    """Return whether a function calls `torch.autograd.grad` or `.backward`, which a trace does not record."""
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    named = (called for called in calls if isinstance(called, ast.Attribute))
    return any(
        one.attr == "backward" or (one.attr == "grad" and last_name(one.value) == "autograd") for one in named
    )


def _is_frozen(call: ast.Call) -> bool:
    """Return whether a trace keeps the result of the call as a constant, although it is not one."""
    if last_name(call.func) not in (_NUMBERS if isinstance(call.func, ast.Name) else _CONVERSIONS):
        return False
    functions = {
        node.func for argument in call.args for node in ast.walk(argument) if isinstance(node, ast.Call)
    }
    given = [node for argument in call.args for node in ast.walk(argument) if node not in functions]
    return not call.args or any(isinstance(node, ast.Name) for node in given)


def _is_static(test: ast.expr, flags: set[str]) -> bool:
    if isinstance(test, ast.Constant):
        return True
    if isinstance(test, ast.Name):
        return test.id in flags
    if isinstance(test, ast.BoolOp):
        return all(_is_static(value, flags) for value in test.values)
    if isinstance(test, ast.UnaryOp):
        return _is_static(test.operand, flags)
    if isinstance(test, ast.Call):
        return last_name(test.func) in _STATIC_CALLS
    if isinstance(test, ast.Attribute):
        return test.attr in _STATIC_ATTRIBUTES
    if isinstance(test, ast.Compare):
        sides = (test.left, *test.comparators)
        is_none = any(isinstance(side, ast.Constant) and side.value is None for side in sides)
        return is_none or all(_is_static(side, flags) for side in sides)
    return False


def _is_counted(iterable: ast.expr) -> bool:
    """Return whether the number of iterations is written in the code."""
    if isinstance(iterable, ast.Call) and last_name(iterable.func) in ("range", "enumerate", "zip"):
        return all(isinstance(a, ast.Constant) or _is_counted(a) for a in iterable.args)
    return isinstance(iterable, (ast.Tuple, ast.List))
