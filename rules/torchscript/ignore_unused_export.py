"""`ignore`, `unused` and `export` do nothing outside TorchScript.

Why: the decorators set an attribute that only `torch.jit.script` reads, and return the function itself.

    @torch.jit.ignore
    def debug(self, x): ...
    →
    def debug(self, x): ...

There is a fix once nothing in the checked project compiles this code to TorchScript and the project says that its users
do not either: `keep-torchscript-support = false`. Until then, the finding is information and names what it waits for. A
scripted function compiles itself and the functions that it calls; a trace runs code as Python, except for what is marked
`export` or `script_if_tracing`.

Fix safety: unsafe; code outside of the checked files may script yours.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.11 wheel: torch/_jit_internal.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, NoFix, Rule, Safety, Severity, Use
from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite.changes import replace

from ._authoring import inert_markers
from ._script.script_reach import note_reach

_NAMES = ("ignore", "unused", "export", "_drop", "_IgnoreContextManager")

rule = Rule(
    code="TS151",
    symbols=(*(f"torch.jit.{name}" for name in _NAMES), *(f"torch._jit_internal.{name}" for name in _NAMES)),
    message="`{symbol}` only marks code for TorchScript; remove it once nothing scripts this code",
    safety=Safety.SAFE,
    asks=inert_markers.ASKS,
    recipe="remove the marker once nothing scripts this code",
)
rule.note(note_reach)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.call is not None and use.name.endswith(".ignore") and _has_drop(use.call):
        message = "`{symbol}(drop=True)` triggers a warning; use `torch.jit.unused`"
        # Only this form warns, and it does so in every supported torch.
        yield ctx.finding(use, message, fix=lambda: _create_unused_fix(use, ctx), severity=Severity.WARNING)
    else:
        yield ctx.finding(use, fix=lambda: _create_fix(use, ctx))


def _has_drop(call: ast.Call) -> bool:
    values = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "drop")]
    return any(isinstance(value, ast.Constant) and value.value is True for value in values)


def _create_unused_fix(use: Use, ctx: Context) -> Fix:
    if inert_markers.explain_need(use, ctx) is None:
        return _create_fix(use, ctx)
    if use.decorated is None or use.call is None:
        raise NoFix("the function is not used as a decorator; replace it with `torch.jit.unused` by hand")
    change = replace(use.call, "{unused}", unused=ctx.write_symbol("torch.jit.unused", use))
    return Fix((change,), Safety.SAFE, "Use `unused`")


def _create_fix(use: Use, ctx: Context) -> Fix:
    inert_markers.check_removable(use, ctx)
    return Fix((_remove_marker(use, ctx),), Safety.UNSAFE, "Remove the marker")


def _remove_marker(use: Use, ctx: Context) -> FixChange:
    if use.decorated is not None:
        return ctx.remove_decorator(use)
    statement, call = use.place.statement, use.call
    if isinstance(statement, ast.With) and [item.context_expr for item in statement.items] == [call]:
        return ctx.unwrap_block(use.place, statement.body)
    if call is not None and not call.keywords:
        match call.args:
            case [ast.Name() | ast.Attribute() as marked]:
                return replace(call, "{marked}", marked=marked)
    raise NoFix("the marker is used in an unusual way; remove it by hand")
