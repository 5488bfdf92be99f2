"""`torch.jit.annotate` tells TorchScript a type; outside of it, it returns its value.

Why: `torch.jit.annotate(T, value)` is `value` for Python. An annotated assignment says the same, to type checkers as
well as to TorchScript.

    sizes = torch.jit.annotate(List[int], [])
    →
    sizes: List[int] = []

    return torch.jit.annotate(Optional[Tensor], None)
    →
    return None

Fix safety: safe where the call becomes an annotated assignment, which TorchScript reads as well, or where the
project neither scripts nor traces anything. Unsafe for a plain value in a project that scripts: TorchScript may
infer another type from the value alone (a bare `[]` is a list of tensors to it).

Source: torch 2.0.1 to 2.15.0 wheels: torch/jit/__init__.py (`annotate`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.findings import Finding, Fix
from torchmigrate.rule import Rule, Safety

from .authoring import AUTHORING

if TYPE_CHECKING:
    from torchmigrate.context import Context
    from torchmigrate.uses import Use

rule = Rule(
    code="TS154",
    symbols=("torch.jit.annotate",),
    message="`{symbol}` only returns its value outside TorchScript",
    since=(2, 0),
    safety=Safety.SAFE,
    asks=AUTHORING,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call = use.call
    if call is None or call.keywords or len(call.args) != 2 or isinstance(call.args[1], ast.Starred):
        yield ctx.finding(use)
        return
    yield ctx.finding(use, fix=lambda: _fix(use, call, ctx))


def _fix(use: Use, call: ast.Call, ctx: Context) -> Fix:
    annotation, value = ctx.text(call.args[0]), ctx.embedded(call.args[1], use.parents[-2])
    statement = use.place.statement
    if isinstance(statement, ast.Assign) and statement.value is call and _can_be_annotated(use, statement):
        target = ctx.text(statement.targets[0])
        edit = ctx.replace(statement, f"{target}: {annotation} = {value}")
        return Fix((edit,), Safety.SAFE, "Annotate the variable instead")
    scripts = ctx.options.keep_torchscript_support and ctx.project.uses(*AUTHORING)
    safety = Safety.UNSAFE if scripts else Safety.SAFE
    return Fix((ctx.replace(call, value),), safety, "Use the plain value")


def _can_be_annotated(use: Use, statement: ast.Assign) -> bool:
    """Whether the assignment has one plain target that no other statement of its scope declares or annotates."""
    target = statement.targets[0]
    scope = use.place.scope
    if len(statement.targets) > 1 or not isinstance(target, ast.Name) or scope.is_class:
        return False
    return target.id not in scope.outer and len(scope.bindings[target.id]) == 1
