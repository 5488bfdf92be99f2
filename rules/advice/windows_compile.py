"""`torch.compile` kept from Windows, where it works since torch 2.5.

Why: up to torch 2.4 compiling with Inductor raised on Windows, and programs learned to leave it out there. torch 2.5
compiles for CPUs with a C++ compiler, and torch 2.7 for Intel GPUs.

    if sys.platform != "win32":
        model = torch.compile(model)
    →
    model = torch.compile(model)

Needs: torch 2.5 and a C++ compiler, such as Microsoft's, where the program runs; 2.7 for Intel GPUs.

Brings: what compiling brings elsewhere.

When not: users have no compiler, or the model runs on an NVIDIA GPU: Inductor needs Triton there, which has no official
wheel for Windows. Nothing is said where a test asks for CUDA, or another backend than Inductor is given.

Measure: `python -c "import torch; print(torch.compile(torch.sin)(torch.ones(3)))"` tells whether a machine can compile.

Source: https://pytorch.org/blog/pytorch2-5/, https://docs.pytorch.org/tutorials/unstable/inductor_windows.html; torch 2.4 and 2.5 wheels: torch/_dynamo/eval_frame.py
(`check_if_inductor_supported`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule
from torchmigrate.semantics.calls import argument
from torchmigrate.semantics.resolve import leaf, string

from ._seen.advice import advise

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

rule = Rule(
    code="AD914",
    symbols=("torch.compile",),
    pairs={"torch.compile": ("win32", "nt", "Windows", "win", "windows")},
    message="`{symbol}` is left out on Windows, where it compiles for CPUs",
    since=(2, 5),
    default=False,
    kinds=frozenset({Kind.CALL}),
)

_WINDOWS = frozenset({"win32", "nt", "Windows", "win", "windows"})


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    conditions = list(_conditions(use))
    if _has_backend(use) or any(_asks_for_gpu(test, taken) for test, taken in conditions):
        return
    if any(_leaves_out(test, taken, use, ctx) for test, taken in conditions):
        yield from advise(use, ctx)


def _has_backend(use: Use) -> bool:
    """Whether another backend than Inductor compiles, of which torch 2.5 says nothing."""
    backend = argument(use.call, None, "backend") if use.call is not None else None
    return backend is not None and string(backend) != "inductor"


def _asks_for_gpu(test: ast.expr, taken: bool) -> bool:
    """Whether what runs where ``test`` is ``taken`` is for NVIDIA's GPUs, for which Windows lacks Triton."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _asks_for_gpu(test.operand, not taken)
    if isinstance(test, ast.BoolOp):
        decisive = isinstance(test.op, ast.And) is taken
        return decisive and any(_asks_for_gpu(value, taken) for value in test.values)
    if isinstance(test, ast.Compare):
        alike = isinstance(test.ops[0], (ast.Eq, ast.In) if taken else (ast.NotEq, ast.NotIn))
        return alike and any(
            (string(side) or "").startswith("cuda") for side in (test.left, *test.comparators)
        )
    if isinstance(test, ast.Call):
        return taken and ast.unparse(test.func).endswith("cuda.is_available")
    return taken and isinstance(test, ast.Attribute) and test.attr == "is_cuda"


def _conditions(use: Use) -> Iterator[tuple[ast.expr, bool]]:
    """The tests around a use inside of its function, and those before it that leave, each with what it must give."""
    for parent in use.parents:
        if isinstance(parent, ast.IfExp) and parent.test not in use.parents:
            yield parent.test, parent.body in (*use.parents, use.node)
    for place in use.place.outwards():
        if isinstance(place.statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return
        for before in place.before():
            if (
                isinstance(before, ast.If)
                and not before.orelse
                and isinstance(before.body[-1], (ast.Return, ast.Raise))
            ):
                yield before.test, False
        outer = place.parent.statement if place.parent is not None else None
        if isinstance(outer, ast.If):
            yield outer.test, place.statement in outer.body


def _leaves_out(test: ast.expr, taken: bool, use: Use, ctx: Context) -> bool:
    """Whether what runs where ``test`` is ``taken`` never runs on Windows."""
    if isinstance(test, ast.Name):
        value = ctx.uses.flow.definition(test, use.place.scope)
        return value is not None and not isinstance(value, ast.Name) and _leaves_out(value, taken, use, ctx)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _leaves_out(test.operand, not taken, use, ctx)
    if isinstance(test, ast.BoolOp):
        decisive = isinstance(test.op, ast.And) is taken
        return decisive and any(_leaves_out(value, taken, use, ctx) for value in test.values)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        (given,), (op,) = test.comparators, test.ops
        several = isinstance(op, (ast.In, ast.NotIn)) and isinstance(given, (ast.Tuple, ast.List, ast.Set))
        named = any(
            isinstance(one, ast.Constant) and one.value in _WINDOWS
            for one in (given.elts if several else [given])  # type: ignore[attr-defined]
        )
        unlike = isinstance(op, (ast.NotEq, ast.NotIn) if taken else (ast.Eq, ast.In))
        return named and unlike and _asked(test.left) in ("platform", "name", "system")
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr == "startswith":
        start = getattr(test.args[0], "value", None) if test.args else None
        return not taken and start in _WINDOWS and _asked(test.func.value) in ("platform", "system")
    return False


def _asked(node: ast.expr) -> str | None:
    """What an expression asks for: ``system`` of ``platform.system().lower()``."""
    if isinstance(node, ast.Call):
        return _asked(node.func)
    if isinstance(node, ast.Attribute) and node.attr in ("lower", "upper", "strip"):
        return _asked(node.value)
    return leaf(node)
