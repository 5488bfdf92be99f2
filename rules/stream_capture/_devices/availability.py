"""Whether the code around a use has made sure that its device exists."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from torchmigrate.semantics.resolve import string

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_DEVICES = ("torch.cuda", "torch.xpu", "torch.mtia", "torch.accelerator")
_QUESTIONS = tuple(f"{device}.is_available" for device in _DEVICES)
_TYPES = ("cuda", "xpu", "mtia")
_TENSORS = ("is_cuda", "is_xpu", "is_mtia")
_CAPTURES = ("torch.cuda.graph()", "torch.xpu.graph()")
_PROOFS = tuple(
    f"{device}.{function}"
    for device in _DEVICES
    for function in ("synchronize", "current_stream", "current_device", "default_stream")
)
"""The functions that fail where there is no device."""


def is_certain(use: Use, ctx: Context) -> bool:
    """Whether the use can only be reached where an accelerator is available.

    Evidence is a check (`is_available()`, or one of a tensor: `x.is_cuda`, `x.device.type == "cuda"`) in an earlier operand
    of `and`, in an `if` around the use, or in an `if not` before it that leaves; a graph capture around the use; and an earlier
    call in the same block that needs a device.
    """

    def available(test: ast.expr) -> bool:
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            return any(available(value) for value in test.values)
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq):
            return ast.unparse(test.left).endswith("device.type") and string(test.comparators[0]) in _TYPES
        if isinstance(test, ast.Attribute):
            return test.attr in _TENSORS
        return isinstance(test, ast.Call) and ctx.is_named(test.func, use, *_QUESTIONS)

    def proves(statement: ast.stmt) -> bool:
        if isinstance(statement, ast.If):
            refused = isinstance(statement.test, ast.UnaryOp) and isinstance(statement.test.op, ast.Not)
            leaves = isinstance(statement.body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))
            return leaves and refused and available(statement.test.operand)  # type: ignore[attr-defined]
        if not isinstance(statement, (ast.Expr, ast.Assign)):
            return isinstance(statement, ast.Assert) and available(statement.test)
        calls = (node for node in ast.walk(statement.value) if isinstance(node, ast.Call))
        return any(ctx.is_named(call.func, use, *_PROOFS) for call in calls)

    # Many uses come after the same statements; a name means the same in all of a scope.
    seen: dict[int, tuple[int, bool]] = ctx.uses.once((is_certain, use.place.scope), dict)

    def proven(block: list[ast.stmt]) -> bool:
        if not block:
            return False
        number, found = seen.get(id(block[0]), (0, False))
        if number > len(block):
            return any(proves(statement) for statement in block)
        found = found or any(proves(statement) for statement in block[number:])
        seen[id(block[0])] = len(block), found
        return found

    return (
        any(available(test) for test in _passed_tests(use))
        or any(ctx.is_named(item.context_expr, use, *_CAPTURES) for item in _entered(use))
        or any(proven(block) for block in _in_function(use))
    )


def _passed_tests(use: Use) -> Iterator[ast.expr]:
    """Find the conditions that hold where the use is evaluated."""
    for parent, child in pairwise((*use.parents, use.node)):
        if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And):
            yield from parent.values[: parent.values.index(child)]  # type: ignore[arg-type]
        elif isinstance(parent, ast.IfExp) and child is parent.body:
            yield parent.test
    for inner, outer in pairwise(use.place.outwards()):
        if isinstance(outer.statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return
        if isinstance(outer.statement, (ast.If, ast.While)) and inner.statement in outer.statement.body:
            yield outer.statement.test


def _entered(use: Use) -> Iterator[ast.withitem]:
    for statement in use.place.ancestors():
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            yield from statement.items


def _in_function(use: Use) -> Iterator[list[ast.stmt]]:
    """Find the statements that ran before the use, block by block, outwards to the function's beginning."""
    for place in use.place.outwards():
        if isinstance(place.statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return
        yield place.before()
