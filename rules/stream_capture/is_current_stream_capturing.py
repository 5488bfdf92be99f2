"""`is_current_stream_capturing` is superseded by `Stream.is_capturing`.

Why: torch 2.12 gives every stream an `is_capturing()` method, the same for CUDA, XPU and accelerators outside of
torch. The functions named after one device stay, but only `Stream.is_capturing` is backend-agnostic.

    if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
    →
    if torch.cuda.is_available() and torch.cuda.current_stream().is_capturing():

With `device-agnostic = true` the fix writes `torch.accelerator.current_stream().is_capturing()`.

Fix safety: safe where the code has made sure that the device exists (`torch.cuda.is_available()` or `x.is_cuda` in the
same condition or around it). Elsewhere it is unsafe and adds a guard: before CUDA is initialized, the old function returns
False and does not initialize it, while `current_stream()` does. The guard `torch.cuda.is_initialized()` keeps that
behavior; but on a build without CUDA the old function raises a RuntimeError, and the guarded call returns False.

A name that tests patch by string (`mock.patch("torch.cuda.is_current_stream_capturing")`) is not rewritten, because
the patch would silently stop working; change both by hand.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/, https://github.com/pytorch/pytorch/pull/171443;
torch 2.12 wheel: torch/_C/__init__.pyi (`Stream.is_capturing`), torch/cuda/graphs.py.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from torchmigrate.api import Context, Finding, Fix, Kind, NoFix, Rule, Safety, Use
from torchmigrate.rewrite.changes import Part, replace
from torchmigrate.semantics.name_resolution import string_value
from torchmigrate.semantics.version_guards import find_reach

rule = Rule(
    code="SC201",
    symbols=(
        "torch.cuda.is_current_stream_capturing",
        "torch.cuda.graphs.is_current_stream_capturing",
        "torch.xpu.is_current_stream_capturing",
        "torch.xpu.graphs.is_current_stream_capturing",
        "torch.mtia.is_current_stream_capturing",
        "torch.mtia.mtia_graph.is_current_stream_capturing",
        "torch.get_device_module().is_current_stream_capturing",
        "torch._C._cuda_isCurrentStreamCapturing",
        "torch._C._xpu_isCurrentStreamCapturing",
        "torch._C._mtia_isCurrentStreamCapturing",
    ),
    message="`{symbol}` is superseded by `Stream.is_capturing`, which works on every accelerator",
    since=(2, 12),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.kind in (Kind.CALL, Kind.REFERENCE):
        yield ctx.finding(use, fix=lambda: _create_fix(use, ctx))
    else:
        yield ctx.finding(use, _OTHER.get(use.kind))


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
_DEVICE = re.compile("cuda|xpu|mtia")
_CATCHES = frozenset({"RuntimeError", "Exception", "BaseException"})
"""The exceptions whose handlers catch the error of the old function."""
_OTHER = {
    Kind.STRING: "this string patches `{symbol}`, which does not affect code that calls `Stream.is_capturing`",
    Kind.ASSIGNMENT: "`{symbol}` is patched here, which does not affect code that calls `Stream.is_capturing`",
    Kind.GUARD: "this checks for `{symbol}`; `hasattr(torch.Stream, 'is_capturing')` detects torch 2.12 and newer",
}


def _create_fix(use: Use, ctx: Context) -> Fix:
    if ctx.project.find_uses(*rule.symbols, kinds=(Kind.STRING, Kind.ASSIGNMENT)):
        raise NoFix("the project patches the old name, but a patch would no longer affect this code")
    _check_reference(use)
    name, device = _find_device(use, ctx)
    query = "{device}.current_stream().is_capturing()"
    certain = _is_device_certain(use, ctx)
    if not certain:
        if find_reach(use, ctx.uses).caught & _CATCHES:
            raise NoFix(
                "the code around this call catches the error that a build without the device raises; check for the device first"
            )
        initialized = "is_initialized" if name.endswith(("cuda", "xpu", "mtia")) else "is_available"
        # Without the guard, `current_stream()` would initialize the device as a side effect.
        query = f"{{device}}.{initialized}() and {query}"
    if use.kind is Kind.REFERENCE:
        query = f"lambda: {query}"
    safety = Safety.SAFE if certain and use.kind is Kind.CALL else Safety.UNSAFE
    asked = use.call or use.node
    assert isinstance(asked, ast.expr)
    title = f"Replace with `{query.replace('{device}', name)}`"
    return Fix((replace(asked, query, device=device),), safety, title)


def _check_reference(use: Use) -> None:
    """Raise NoFix where the function is inspected instead of being passed on to be called."""
    if use.kind is not Kind.REFERENCE:
        return
    parent = use.parents[-1]
    if isinstance(parent, (ast.Compare, ast.Attribute, ast.UnaryOp, ast.BoolOp, ast.If, ast.IfExp)):
        raise NoFix("the name is used as a value here, not called, and its replacement is a different object")


def _find_device(use: Use, ctx: Context) -> tuple[str, Part]:
    """Return the name of the device's module, and the code for it here."""
    if use.symbol.startswith("torch.get_device_module"):
        if not isinstance(use.node, ast.Attribute):
            raise NoFix("the device module is not bound to a name here")
        return ctx.get_text(use.node.value), use.node.value
    module = "accelerator" if ctx.options.device_agnostic else _DEVICE.search(use.symbol)[0]  # type: ignore[index]
    symbol = ctx.write_symbol(f"torch.{module}", use)
    return symbol.text, symbol


def _is_device_certain(use: Use, ctx: Context) -> bool:
    """Return whether the use can only be reached where an accelerator is available.

    Evidence is a check (`is_available()`, or one of a tensor: `x.is_cuda`, `x.device.type == "cuda"`) in an earlier operand
    of `and`, in an `if` around the use, or in an `if not` before it that leaves; a graph capture around the use; and an earlier
    call in the same block that needs a device.
    """

    def is_availability_check(test: ast.expr) -> bool:
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            return any(is_availability_check(value) for value in test.values)
        if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq):
            return (
                ast.unparse(test.left).endswith("device.type") and string_value(test.comparators[0]) in _TYPES
            )
        if isinstance(test, ast.Attribute):
            return test.attr in _TENSORS
        return isinstance(test, ast.Call) and ctx.is_named(test.func, use, *_QUESTIONS)

    def proves_device(statement: ast.stmt) -> bool:
        if isinstance(statement, ast.If):
            refused = isinstance(statement.test, ast.UnaryOp) and isinstance(statement.test.op, ast.Not)
            leaves = isinstance(statement.body[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break))
            return leaves and refused and is_availability_check(statement.test.operand)  # type: ignore[attr-defined]
        if not isinstance(statement, (ast.Expr, ast.Assign)):
            return isinstance(statement, ast.Assert) and is_availability_check(statement.test)
        calls = (node for node in ast.walk(statement.value) if isinstance(node, ast.Call))
        return any(ctx.is_named(call.func, use, *_PROOFS) for call in calls)

    # Many uses come after the same statements; a name means the same in all of a scope.
    seen: dict[int, tuple[int, bool]] = ctx.uses.compute_once((_is_device_certain, use.place.scope), dict)

    def is_proven(block: list[ast.stmt]) -> bool:
        if not block:
            return False
        number, found = seen.get(id(block[0]), (0, False))
        if number > len(block):
            return any(proves_device(statement) for statement in block)
        found = found or any(proves_device(statement) for statement in block[number:])
        seen[id(block[0])] = len(block), found
        return found

    return (
        any(is_availability_check(test) for test in _find_passed_tests(use))
        or any(ctx.is_named(item.context_expr, use, *_CAPTURES) for item in _find_entered_contexts(use))
        or any(is_proven(block) for block in _find_earlier_blocks(use))
    )


def _find_passed_tests(use: Use) -> Iterator[ast.expr]:
    """Find the conditions that hold where the use is evaluated."""
    for parent, child in pairwise((*use.parents, use.node)):
        if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And):
            yield from parent.values[: parent.values.index(child)]  # type: ignore[arg-type]
        elif isinstance(parent, ast.IfExp) and child is parent.body:
            yield parent.test
    for inner, outer in pairwise(use.place.enclosing_places()):
        if isinstance(outer.statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return
        if isinstance(outer.statement, (ast.If, ast.While)) and inner.statement in outer.statement.body:
            yield outer.statement.test


def _find_entered_contexts(use: Use) -> Iterator[ast.withitem]:
    for statement in use.place.enclosing_statements():
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            yield from statement.items


def _find_earlier_blocks(use: Use) -> Iterator[list[ast.stmt]]:
    """Find the statements that ran before the use, block by block, outwards to the function's beginning."""
    for place in use.place.enclosing_places():
        if isinstance(place.statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return
        yield place.preceding_statements()
