"""`torch.jit._overload` declares overloads for TorchScript.

Why: it is private. In eager mode the last definition simply wins, as it does with `typing.overload`, which type checkers
understand.

    @torch.jit._overload
    def join(x: int) -> int: ...
    →
    @typing.overload
    def join(x: int) -> int: ...

Where the file imports both under one name, for type checkers and for TorchScript, one import is left:

    if TYPE_CHECKING:
        from typing import overload
    else:
        from torch.jit import _overload as overload
    →
    from typing import overload

There is a fix once nothing in the checked project compiles this code to TorchScript and the project says that its users
do not either: `keep-torchscript-support = false`. Until then, the finding is information and names what it waits for; see
`torchmigrate explain TS151`.

Fix safety: unsafe; TorchScript does not support `typing.overload`, and code outside of the checked files may script yours.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/_jit_internal.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from torchmigrate.api import Context, Finding, Fix, Kind, NoFix, Rule, Safety, Use
from torchmigrate.model.findings import FixChange
from torchmigrate.semantics.scopes import StatementPlace

from ._authoring import inert_markers
from ._script.script_reach import note_reach

_PUBLISHED = ("_overload", "_overload_method")
_TABLES = ("_get_fn_overloads", "_get_overloaded_methods", "_overloaded_fns", "_overloaded_methods")

rule = Rule(
    code="TS158",
    symbols=(
        *(f"torch.jit.{name}" for name in _PUBLISHED),
        *(f"torch._jit_internal.{name}" for name in _PUBLISHED + _TABLES),
    ),
    message="`{symbol}` declares overloads for TorchScript; use `typing.overload` once nothing scripts this code",
    safety=Safety.UNSAFE,
    asks=inert_markers.ASKS,
    recipe="declare the overloads with `typing.overload`",
)
rule.note(note_reach)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    choice = _find_choice(use.node.id, ctx) if isinstance(use.node, ast.Name) else None
    if choice is not None:
        use = replace(use, certain=True)  # the name can only be `typing.overload` otherwise
    yield ctx.finding(use, fix=lambda: _create_fix(use, choice, ctx))


def _create_fix(use: Use, choice: StatementPlace | None, ctx: Context) -> Fix:
    inert_markers.check_removable(use, ctx)
    if use.kind is not Kind.DECORATOR:
        raise NoFix("the function is used as a value here, not as a decorator")
    return Fix((_create_change(use, choice, ctx),), Safety.UNSAFE, "Use `typing.overload`")


def _create_change(use: Use, choice: StatementPlace | None, ctx: Context) -> FixChange:
    if choice is not None:
        assert isinstance(choice.statement, ast.If)
        return ctx.decide_branch(choice, True)
    if rebound := ctx.rebind_use(use, "typing.overload"):
        return rebound
    if isinstance(use.node, ast.Name):
        raise NoFix(f"the file binds `{use.node.id}` more than once")
    return ctx.rename_use(use, "typing.overload")


def _find_choice(name: str, ctx: Context) -> StatementPlace | None:
    """Find ``if TYPE_CHECKING: from typing import overload / else: from torch.jit import _overload as overload``."""
    for place in ctx.uses.scopes.places:
        match place.statement:
            case ast.If(
                body=[ast.ImportFrom(module="typing", names=[ast.alias(name="overload") as first])],
                orelse=[ast.ImportFrom(names=[second])],
            ) if (first.asname or first.name) == (second.asname or second.name) == name:
                return place
    return None
