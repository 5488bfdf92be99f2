"""An argument that is gone or deprecated.

Why: a keyword that torch has dropped is a TypeError, one that it deprecates warns. Only keywords are looked at that an
earlier release took.

    scheduler = StepLR(optimizer, 30, verbose=True)
    →
    scheduler = StepLR(optimizer, 30)

A class that derives from `LRScheduler` and hands `verbose` on to it is seen too.

Fix safety: safe where the argument had no effect, or where another one says the same; else unsafe, and the title says
what is lost.

Source: `torchmigrate/tables/data/changes.toml`, which names the wheels for each.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, NoFix, Rule, Safety, Severity
from torchmigrate.rewrite.changes import DropArguments
from torchmigrate.semantics.guards import reach
from torchmigrate.tables import changes

from ._changes.recipes import argument_changes, matches
from ._changes.verdict import is_guarded, require

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.guards import Reach
    from torchmigrate.tables.changes import Change

_CHANGES = changes.of_callable(changes.Kind.PARAMETER)
_SCHEDULERS = ("torch.optim.lr_scheduler.LRScheduler", "torch.optim.lr_scheduler._LRScheduler")
_PAIRS = {symbol: tuple(k for change in of for k in change.keywords) for symbol, of in _CHANGES.items()}

rule = Rule(
    code="RM711",
    symbols=(*_CHANGES, _SCHEDULERS[1]),
    pairs={**_PAIRS, _SCHEDULERS[1]: ("verbose",)},
    message="`{symbol}` takes another argument",
    kinds=frozenset({Kind.CALL, Kind.BASE}),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    reached = reach(use, ctx.uses)
    if is_guarded(use, ctx, reached):
        return
    if use.call is not None:
        for change in _CHANGES.get(use.symbol, ()):
            yield from _called(use, use.call, ctx, change, reached)
    elif use.symbol in _SCHEDULERS and isinstance(use.place.statement, ast.ClassDef):
        yield from _derived(use, use.place.statement, ctx, _CHANGES[_SCHEDULERS[0]][0])


def _called(use: Use, call: ast.Call, ctx: Context, change: Change, reached: Reach) -> Iterator[Finding]:
    given = [keyword for keyword in call.keywords if keyword.arg in change.keywords]
    severity = change.severity(ctx.options.target)
    if (
        not given
        or (severity is Severity.WARNING and reached.unheard)
        or (severity is Severity.ERROR and reached.caught & {"TypeError", "Exception", "BaseException"})
    ):
        return
    names = " and ".join(f"`{keyword.arg}=`" for keyword in given)
    state = change.state(ctx.options.target)
    yield ctx.finding(
        use,
        f"{names} of `{{symbol}}` {state}; {change.instead}",
        severity=severity,
        fix=(lambda: _fix(call, ctx, change, reached)) if change.recipes else None,
        span=ctx.source.span(given[0]),
        source=change.source,
    )


def _fix(call: ast.Call, ctx: Context, change: Change, reached: Reach) -> Fix:
    require(change.needs, ctx, reached)
    if any(keyword.arg is None for keyword in call.keywords):
        raise NoFix("some of the arguments are not written here")
    for recipe in change.recipes:
        if matches(recipe, call) and not any(keyword.arg in recipe.add for keyword in call.keywords):
            safety = Safety.UNSAFE if recipe.unsafe else Safety.SAFE
            added = ", ".join(f"{name}={code}" for name, code in recipe.add.items())
            title = (
                f"Use `{added}`"
                if added
                else f"Drop `{recipe.drop[0]}`"
                if recipe.drop
                else "Rename the argument"
            )
            reason = f"; unsafe because {recipe.unsafe}" if recipe.unsafe else ""
            return Fix(tuple(argument_changes(recipe, call)), safety, title + reason)
    raise NoFix("what takes its place for this value is not known here")


def _derived(use: Use, owner: ast.ClassDef, ctx: Context, change: Change) -> Iterator[Finding]:
    """Calls of the base's ``__init__`` that hand `verbose` on, by name or as the third argument."""
    for node in ast.walk(owner):
        if not (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "__init__"
        ):
            continue
        is_super = isinstance(node.func.value, ast.Call) and ast.unparse(node.func.value.func) == "super"
        if not is_super and ast.unparse(node.func.value) != ast.unparse(use.node):
            continue
        first = 0 if is_super else 1
        handed = [k for k in node.keywords if k.arg == "verbose"] or node.args[first + 2 : first + 3]
        if handed and not any(isinstance(argument, ast.Starred) for argument in node.args):
            argument = handed[0]
            yield ctx.finding(
                use,
                f"`verbose` of `{_SCHEDULERS[0]}` {change.state(ctx.options.target)}; {change.instead}",
                severity=change.severity(ctx.options.target),
                fix=lambda node=node, argument=argument: _dropped(node, argument),  # type: ignore[misc]
                span=ctx.source.span(argument),
                source=change.source,
            )


def _dropped(call: ast.Call, argument: ast.expr | ast.keyword) -> Fix:
    return Fix(
        (DropArguments(call, (argument,)),),
        Safety.UNSAFE,
        "Drop `verbose`; unsafe because changes of the learning rate are printed no more",
    )
