"""`ignore`, `unused` and `export` do nothing outside TorchScript.

Why: the decorators set an attribute that only `torch.jit.script` reads, and return the function itself.

    @torch.jit.ignore
    def debug(self, x): ...
    →
    def debug(self, x): ...

The fix waits until nothing in the checked project scripts or traces, and until the project says that its users do not
either: `keep-torchscript-support = false`. Till then this is information, and tells what it waits for.

Fix safety: unsafe: code outside of the checked files may script yours.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.11 wheel: torch/_jit_internal.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate import decorators
from torchmigrate.findings import Edit, Finding, Fix
from torchmigrate.rule import Rule, Safety, Severity

from . import inert

if TYPE_CHECKING:
    from torchmigrate.context import Context
    from torchmigrate.uses import Use

_NAMES = ("ignore", "unused", "export", "_drop", "_IgnoreContextManager")

rule = Rule(
    code="TS151",
    symbols=(*(f"torch.jit.{name}" for name in _NAMES), *(f"torch._jit_internal.{name}" for name in _NAMES)),
    message="`{symbol}` marks code for TorchScript and does nothing else; it can go once nothing scripts this code",
    safety=Safety.SAFE,
    asks=inert.ASKS,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.call is not None and use.name.endswith(".ignore") and _drops(use.call):
        message = "`{symbol}(drop=True)` warns; `torch.jit.unused` is its replacement"
        yield ctx.finding(use, message, fix=lambda: _as_unused(use, ctx), severity=Severity.WARNING)
    else:
        yield ctx.finding(use, fix=lambda: inert.needed_by(ctx) or _fix(use, ctx))


def _drops(call: ast.Call) -> bool:
    values = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "drop")]
    return any(isinstance(value, ast.Constant) and value.value is True for value in values)


def _as_unused(use: Use, ctx: Context) -> Fix | str:
    if inert.needed_by(ctx) is None:
        return _fix(use, ctx)
    spelling = ctx.imports.spell("torch.jit.unused", use)
    if use.decorated is None or spelling is None:
        return "write `torch.jit.unused` by hand"
    return Fix(
        (ctx.replace(use.call or use.node, spelling.text), *spelling.edits), Safety.SAFE, "Use `unused`"
    )


def _fix(use: Use, ctx: Context) -> Fix | str:
    edits = _removed(use, ctx)
    return edits if isinstance(edits, str) else Fix(edits, Safety.UNSAFE, "Remove the marker")


def _removed(use: Use, ctx: Context) -> tuple[Edit, ...] | str:
    marker = use.call or use.node
    if use.decorated is not None and marker in use.decorated.decorator_list:
        edit = decorators.removed(ctx.source, use.decorated, marker)
        return (edit,) if edit is not None else "the decorator shares its lines with something that stays"
    statement = use.place.statement
    if isinstance(statement, ast.With) and [item.context_expr for item in statement.items] == [marker]:
        return ctx.blocks.unwrapped(use.place, statement.body)
    call = use.call
    if (
        call is not None
        and len(call.args) == 1
        and not call.keywords
        and isinstance(call.args[0], (ast.Name, ast.Attribute))
    ):
        return (ctx.replace(call, ctx.text(call.args[0])),)
    return "the marker is used in an unusual way; remove it by hand"
