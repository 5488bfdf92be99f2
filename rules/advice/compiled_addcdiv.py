"""A compiled optimizer step, or `addcdiv`, whose results change in the last bits with torch 2.12.

Why: up to torch 2.11 Inductor multiplied, divided and added one after the other for `addcdiv`. Since 2.12 it uses a fused
multiply-add and a division rounded to nearest on CUDA and XPU, as the eager kernels do. Compiled results are closer to eager
ones, and differ from those of older releases. Adam, AdamW, NAdam, Adamax, Adagrad and RMSprop use this operation.

    step = torch.compile(optimizer.step)

What to do: nothing in the code. If tests compare runs to the last bit, or a run is resumed with the new release, expect a
difference and update the expected values.

Needs: torch 2.12; ROCm and integers are not affected.

Brings: compiled optimizers that agree with eager ones; the release blog speaks of bitwise parity on XPU.

When not: nothing compares the numbers, the step runs eagerly, or the backend is not Inductor.

Measure: run the project's `pytest -k compile` on both releases, with `torch.testing.assert_close(new, old, rtol=0, atol=0)`.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/; torch 2.11 and 2.12 wheels: torch/_inductor/lowering.py
(`addcdiv`), torch/optim/adam.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name, string_value

from ._analyses.advice_findings import create_advice
from ._analyses.compiled_code import find_assigned_values, find_code, find_compiled, list_statements
from ._analyses.enclosing_nodes import enclosing_class, walk_body

rule = Rule(
    code="AD922",
    symbols=("torch.compile",),
    pairs={"torch.compile": ()},
    message="the compiled `addcdiv` in here now rounds like the eager one, so on CUDA and XPU its results differ from those of older releases in the last bits",
    since=(2, 12),
    default=False,
    kinds=frozenset({Kind.CALL, Kind.DECORATOR, Kind.REFERENCE}),
)

_DIVIDE = frozenset({"Adam", "AdamW", "NAdam", "Adamax", "Adagrad", "RMSprop"})
_ADDCDIV = frozenset({"addcdiv", "addcdiv_", "_foreach_addcdiv", "_foreach_addcdiv_"})


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    backend = find_argument(use.call, None, "backend") if use.call is not None else None
    if backend is not None and string_value(backend) not in (None, "inductor"):
        return
    given = use.call.args[0] if use.call is not None and use.call.args else None
    if given is not None and _is_dividing_step(given, use, ctx):
        yield from create_advice(use, ctx)
        return
    defined = find_compiled(use, ctx)
    code = find_code(defined) if defined is not None else None
    run = walk_body(list_statements(code)) if code is not None else ()
    calls = (node.func for node in run if isinstance(node, ast.Call))
    if any(last_name(function) in _ADDCDIV or _is_dividing_step(function, use, ctx) for function in calls):
        yield from create_advice(use, ctx)


def _is_dividing_step(node: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether an expression is the ``step`` of an optimizer that divides, created in this file."""
    if not (isinstance(node, ast.Attribute) and node.attr == "step"):
        return False
    made = list(_find_assigned_values(node.value, use))
    if len(made) != 1 or not isinstance(made[0], ast.Call):
        return False
    named = ctx.resolve_node(made[0].func, use)
    return (
        named is not None and named.names[0].startswith("torch.optim.") and last_name(made[0].func) in _DIVIDE
    )


def _find_assigned_values(node: ast.expr, use: Use) -> Iterator[ast.expr | None]:
    """Yield all values that the file assigns to a variable, or to an attribute of the object."""
    if isinstance(node, ast.Name):
        scope = use.place.scope.find_scope(node.id)
        yield from (binding.value for binding in scope.bindings[node.id]) if scope is not None else ()
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        around = enclosing_class(use)
        yield from find_assigned_values(node.attr, around) if around is not None else ()
