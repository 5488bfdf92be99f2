"""`torch.jit.Attribute` is a pair that only TorchScript unpacks.

Why: in a plain `nn.Module`, `self.sizes = torch.jit.Attribute({}, Dict[str, int])` leaves the pair itself in
`self.sizes`.

    self.sizes = torch.jit.Attribute({}, Dict[str, int])
    →
    self.sizes: Dict[str, int] = {}

Fix safety: unsafe where code reads `.value` or `.type` of the pair.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/jit/_script.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.calls import argument
from torchmigrate.findings import Finding, Fix
from torchmigrate.rule import Rule, Safety

if TYPE_CHECKING:
    from torchmigrate.context import Context
    from torchmigrate.uses import Use

rule = Rule(
    code="TS156",
    symbols=("torch.jit.Attribute", "torch.jit._script.Attribute"),
    message="`{symbol}` is a pair of value and type that only TorchScript unpacks; write an annotated attribute",
    safety=Safety.UNSAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, fix=lambda: _fix(use, ctx))


def _fix(use: Use, ctx: Context) -> Fix | str:
    call, statement = use.call, use.place.statement
    if call is None:
        return "it is used as a value, and not called"
    value, stated = argument(call, 0, "value"), argument(call, 1, "type")
    if value is None or stated is None:
        return "the call does not show its value and its type"
    if ctx.blocks.comments(call):
        return "a comment inside the call would be lost"
    kept, annotation = ctx.embedded(value, statement), ctx.embedded(stated, statement)
    title = "Annotate the attribute"
    if isinstance(statement, ast.AnnAssign) and statement.annotation is call:
        return Fix((ctx.replace(call, annotation),), Safety.UNSAFE, title)
    if isinstance(statement, ast.AnnAssign) and statement.value is call:
        return Fix((ctx.replace(call, kept),), Safety.UNSAFE, title)
    if isinstance(statement, ast.Assign) and statement.value is call and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
            text = f"{ctx.text(target)}: {annotation} = {kept}"
            return Fix((ctx.replace(statement, text),), Safety.UNSAFE, title)
    return "only an attribute that is assigned in one statement can be annotated"
