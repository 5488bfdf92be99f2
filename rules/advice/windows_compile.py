"""`torch.compile` skipped on Windows, where it works since torch 2.5.

Why: up to torch 2.4 compiling with Inductor raised on Windows, so programs skipped it there. torch 2.5 compiles for CPUs
with a C++ compiler, and torch 2.7 for Intel GPUs.

    if sys.platform != "win32":
        model = torch.compile(model)
    →
    model = torch.compile(model)

Needs: torch 2.5 and a C++ compiler, such as Microsoft's, on the machine that runs the program; 2.7 for Intel GPUs.

Brings: the speed that compiling brings elsewhere.

When not: users have no compiler, or the model runs on an NVIDIA GPU: Inductor needs Triton there, which has no official
wheel for Windows. Calls below a test for CUDA, and calls with a backend other than Inductor, are not reported.

Measure: `python -c "import torch; print(torch.compile(torch.sin)(torch.ones(3)))"` shows whether a machine can compile.

Source: https://pytorch.org/blog/pytorch2-5/, https://docs.pytorch.org/tutorials/unstable/inductor_windows.html; torch 2.4 and
2.5 wheels: torch/_dynamo/eval_frame.py (`check_if_inductor_supported`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name, string_value

from ._analyses.advice_findings import create_advice
from ._analyses.enclosing_nodes import FunctionNode

rule = Rule(
    code="AD914",
    symbols=("torch.compile",),
    pairs={"torch.compile": ("win32", "nt", "Windows", "win", "windows")},
    message="this skips `{symbol}` on Windows, although it works there on CPUs",
    since=(2, 5),
    default=False,
    by_code=True,
    kinds=frozenset({Kind.CALL}),
)

_WINDOWS = frozenset({"win32", "nt", "Windows", "win", "windows"})


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    conditions = list(_find_conditions(use))
    backend = find_argument(use.call, None, "backend") if use.call is not None else None
    # What torch 2.5 brought concerns Inductor alone.
    if backend is not None and string_value(backend) != "inductor":
        return
    if any(_implies(test, taken, _asks_for_gpu) for test, taken in conditions):
        return

    def excludes(test: ast.expr, taken: bool) -> bool:
        return _excludes_windows(test, taken, use, ctx)

    if any(_implies(test, taken, excludes) for test, taken in conditions):
        yield from create_advice(use, ctx)


def _implies(test: ast.expr, taken: bool, is_met: Callable[[ast.expr, bool], bool]) -> bool:
    """Return whether a condition on one part of a test certainly holds when the whole test is ``taken``."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _implies(inner, not taken, is_met)
        case ast.BoolOp(op=operator, values=parts):
            decisive = isinstance(operator, ast.And) is taken
            return decisive and any(_implies(part, taken, is_met) for part in parts)
    return is_met(test, taken)


def _asks_for_gpu(test: ast.expr, taken: bool) -> bool:
    """Return whether code for which ``test`` is ``taken`` is for NVIDIA's GPUs, for which Windows lacks Triton."""
    if isinstance(test, ast.Compare):
        alike = isinstance(test.ops[0], (ast.Eq, ast.In) if taken else (ast.NotEq, ast.NotIn))
        return alike and any(
            (string_value(side) or "").startswith("cuda") for side in (test.left, *test.comparators)
        )
    if isinstance(test, ast.Call):
        return taken and ast.unparse(test.func).endswith("cuda.is_available")
    return taken and isinstance(test, ast.Attribute) and test.attr == "is_cuda"


def _find_conditions(use: Use) -> Iterator[tuple[ast.expr, bool]]:
    """Yield the tests that a use depends on inside its function, each with the outcome that leads to the use."""
    for parent in use.parents:
        if isinstance(parent, ast.IfExp) and parent.test not in use.parents:
            yield parent.test, parent.body in (*use.parents, use.node)
    for place in use.place.enclosing_places():
        if isinstance(place.statement, (FunctionNode, ast.ClassDef)):
            return
        for before in place.preceding_statements():
            if (
                isinstance(before, ast.If)
                and not before.orelse
                and isinstance(before.body[-1], (ast.Return, ast.Raise))
            ):
                yield before.test, False
        outer = place.parent.statement if place.parent is not None else None
        if isinstance(outer, ast.If):
            yield outer.test, place.statement in outer.body


def _excludes_windows(test: ast.expr, taken: bool, use: Use, ctx: Context) -> bool:
    """Return whether code for which ``test`` is ``taken`` never runs on Windows."""
    if isinstance(test, ast.Name):
        value = ctx.uses.data_flow.find_definition(test, use.place.scope)
        if value is None or isinstance(value, ast.Name):
            return False
        return _implies(value, taken, lambda part, outcome: _excludes_windows(part, outcome, use, ctx))
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        (given,), (op,) = test.comparators, test.ops
        several = isinstance(op, (ast.In, ast.NotIn)) and isinstance(given, (ast.Tuple, ast.List, ast.Set))
        named = any(
            isinstance(one, ast.Constant) and one.value in _WINDOWS
            for one in (given.elts if several else [given])  # type: ignore[attr-defined]
        )
        unlike = isinstance(op, (ast.NotEq, ast.NotIn) if taken else (ast.Eq, ast.In))
        return named and unlike and _find_queried_name(test.left) in ("platform", "name", "system")
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute) and test.func.attr == "startswith":
        start = getattr(test.args[0], "value", None) if test.args else None
        return (
            not taken and start in _WINDOWS and _find_queried_name(test.func.value) in ("platform", "system")
        )
    return False


def _find_queried_name(node: ast.expr) -> str | None:
    """Return the name of the function or attribute that an expression reads: ``system`` for ``platform.system().lower()``."""
    if isinstance(node, ast.Call):
        return _find_queried_name(node.func)
    if isinstance(node, ast.Attribute) and node.attr in ("lower", "upper", "strip"):
        return _find_queried_name(node.value)
    return last_name(node)
