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
wheel for Windows.

Measure: `python -c "import torch; print(torch.compile(torch.sin)(torch.ones(3)))"` tells whether a machine can compile.

Source: https://pytorch.org/blog/pytorch2-5/, https://docs.pytorch.org/tutorials/unstable/inductor_windows.html; torch 2.4 and 2.5 wheels: torch/_dynamo/eval_frame.py
(`check_if_inductor_supported`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule
from torchmigrate.semantics.resolve import leaf

from ._seen.advice import advise

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

rule = Rule(
    code="AD914",
    symbols=("torch.compile",),
    pairs={"torch.compile": ("win32", "nt", "Windows")},
    message="`{symbol}` is left out on Windows, where it compiles for CPUs",
    since=(2, 5),
    default=False,
    kinds=frozenset({Kind.CALL}),
)

_WINDOWS = frozenset({"win32", "nt", "Windows", "win", "windows"})


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    for inner, outer in pairwise(use.place.outwards()):
        node = outer.statement
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            break
        if isinstance(node, ast.If) and _leaves_out(node.test, inner.statement in node.body):
            yield from advise(use, ctx)
            return
    for parent in use.parents:
        inside = isinstance(parent, ast.IfExp) and parent.test not in use.parents
        if inside and _leaves_out(parent.test, parent.body in (*use.parents, use.node)):  # type: ignore[attr-defined]
            yield from advise(use, ctx)
            return


def _leaves_out(test: ast.expr, taken: bool) -> bool:
    """Whether what runs where ``test`` is ``taken`` never runs on Windows."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _leaves_out(test.operand, not taken)
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And) is taken and any(
            _leaves_out(value, taken) for value in test.values
        )
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        windows = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value in _WINDOWS
        asked = leaf(test.left.func if isinstance(test.left, ast.Call) else test.left)
        if not windows or asked not in ("platform", "name", "system"):
            return False
        return isinstance(test.ops[0], (ast.NotEq, ast.NotIn) if taken else (ast.Eq, ast.In))
    if isinstance(test, ast.Call) and leaf(test.func) == "startswith" and not taken:
        return leaf(test.func.value) == "platform" and getattr(test.args[0], "value", None) in _WINDOWS  # type: ignore[attr-defined]
    return False
