"""An argument that is gone or deprecated.

Why: a keyword that torch has dropped is a TypeError, one that it deprecates warns. Only keywords are looked at that an
earlier release took.

    scheduler = StepLR(optimizer, 30, verbose=True)
    →
    scheduler = StepLR(optimizer, 30)

Arguments that a call spreads (`**options`) are looked at where the file writes the dictionary.

A class that derives from `LRScheduler` and hands `verbose` on to it is seen too, and so is one that derives from `Sampler` and
hands it a `data_source`; a scheduler that asks itself for `verbose` has to set it.

Fix safety: safe where the argument had no effect, or where another one says the same; else unsafe, and the title says
what is lost.

Source: `torchmigrate/tables/data/changes.toml`, which names the wheels for each.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from torchmigrate.api import Calls, Finding, Fix, Kind, NoFix, Rule, Safety, Severity
from torchmigrate.semantics.guards import reach
from torchmigrate.semantics.resolve import leaf
from torchmigrate.tables import changes

from ._changes import derived
from ._changes.arguments import is_met, spread
from ._changes.making import oldest, require
from ._changes.prepared import asks_for, is_guarded
from ._changes.recipes import around, call_changes, matches, written
from ._changes.tensors import is_tensor

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.guards import Reach
    from torchmigrate.tables.changes import Change

_CHANGES = changes.of_callable(changes.Kind.PARAMETER)


def _words(change: Change) -> Iterator[str]:
    """Yield what a file spells that has a call with the argument: the keyword, or a word of its value; "" for anything."""
    if change.beside:
        yield from change.beside
        return
    values = [re.match(r"'?(\w+)'?(?:\(|\Z)", code) for code in change.values]
    if values and all(value is not None and value[1] not in ("True", "False") for value in values):
        yield from (value[1] for value in values if value is not None)
    else:
        yield from [""] if change.position is not None else change.keywords


def _of_calls(of: Sequence[Change]) -> tuple[str, ...]:
    """Identifiers of which a file must spell one for any of the changes to concern it; none: no condition."""
    words = [word for change in of for word in _words(change)]
    return tuple(words) if all(words) else ()


_WORDS = {symbol: _of_calls(of) for symbol, of in _CHANGES.items() if "()" not in symbol}


def _calls(of: Sequence[Change]) -> Calls:
    """Return the calls that one of the changes may concern: where none is about positional arguments, those that give a keyword."""
    places = [change.position for change in of if change.by_place and change.position is not None]
    if len(places) == len(of):
        return Calls(more_than=min(places))
    if any(change.position is not None or change.beside for change in of):
        return Calls()
    return Calls(giving=frozenset(name for change in of for name in change.keywords))


rule = Rule(
    code="RM711",
    symbols=tuple(dict.fromkeys((*_CHANGES, *derived.BASES))),
    pairs={"torch.optim.lr_scheduler._LRScheduler": ("verbose",), **_WORDS},
    calls={symbol: _calls(_CHANGES[symbol]) for symbol in _WORDS},
    kinds=frozenset({Kind.CALL, Kind.BASE}),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.call is not None:
        for change in _CHANGES.get(use.symbol, ()):
            if use.symbol.startswith(".") and not _is_of_a_tensor(use, ctx, change):
                continue
            given = list(_given(use.call, change, spread(use.call, use, ctx)))
            if given and is_met(use.call, change):  # as few uses do; how they are reached takes longer
                yield from _called(use, use.call, ctx, change, given)
    elif use.symbol in derived.BASES and isinstance(use.place.statement, ast.ClassDef):
        reached = reach(use, ctx.uses)
        if not is_guarded(use, ctx, reached):
            yield from derived.findings(use, use.place.statement, ctx, reached)


def _is_of_a_tensor(use: Use, ctx: Context, change: Change) -> bool:
    """Whether a method is one of a tensor: by its name alone, or by what it is called on."""
    if not change.beside:
        return True
    assert isinstance(use.node, ast.Attribute)
    return leaf(use.node.value) in ("data", "grad") or is_tensor(use.node.value, use, ctx)


def _called(
    use: Use, call: ast.Call, ctx: Context, change: Change, given: Sequence[ast.keyword | ast.expr]
) -> Iterator[Finding]:
    reached = reach(use, ctx.uses)
    severity = change.severity(ctx.options.target)
    if (
        is_guarded(use, ctx, reached)
        or asks_for(use, change.keywords[0])
        or (change.place_of and change.gone is not None and change.gone <= oldest(ctx, reached))
        or (severity is Severity.WARNING and reached.unheard)
        or (severity is Severity.ERROR and reached.caught & {"TypeError", "Exception", "BaseException"})
    ):
        return
    names = " and ".join(_spelled(argument, change) for argument in given)
    state = change.state(ctx.options.target)
    yield ctx.finding(
        use,
        f"{names} of `{{symbol}}` {state}; {change.instead}",
        severity=severity,
        fix=(lambda: _fix(use, call, ctx, change, reached)) if change.recipes else None,
        span=ctx.source.span(given[0]),
        source=change.source,
    )


def _spelled(argument: ast.keyword | ast.expr, change: Change) -> str:
    """An argument as messages name it, with its value where that alone is meant."""
    if isinstance(argument, ast.expr):
        return f"`{change.keywords[0]}`{' by its place' if change.by_place else ''}"
    value = ast.unparse(argument.value)
    return f"`{argument.arg}={value if value in change.values else ''}`"


def _given(call: ast.Call, change: Change, spread: Iterator[ast.keyword]) -> Iterator[ast.keyword | ast.expr]:
    """The arguments of a call that a change is about, those that it spreads included."""

    def is_meant(value: ast.expr) -> bool:
        return not change.values or any(fnmatchcase(ast.unparse(value), code) for code in change.values)

    for keyword in () if change.by_place else (*call.keywords, *spread):
        if keyword.arg in change.keywords and is_meant(keyword.value):
            yield keyword
    before = call.args[: (change.position or 0) + 1]
    is_known = not any(isinstance(argument, ast.Starred) for argument in before)
    if change.position is not None and len(call.args) > change.position and is_known:
        value = call.args[change.position]
        if is_meant(value):
            yield value


def _fix(use: Use, call: ast.Call, ctx: Context, change: Change, reached: Reach) -> Fix:
    if any(keyword.arg is None for keyword in call.keywords):
        raise NoFix("some of the arguments are not written here")
    is_placed = change.position is not None and len(call.args) > change.position
    if is_placed and not change.by_place:
        raise NoFix("the argument is not given by its name")
    if is_placed and any(isinstance(argument, ast.Starred) for argument in call.args):
        raise NoFix("some of the arguments are not written here")
    for recipe in change.recipes:
        if recipe.write and (edits := written(recipe, use, ctx)) is not None:
            require(change.needs, ctx, reached)
            return Fix(tuple(edits), Safety.SAFE, f"Hand `{change.keywords[0]}` over by its name")
        if is_placed and len(call.args) > len(recipe.name):
            continue
        if matches(recipe, call) and not any(keyword.arg in recipe.add for keyword in call.keywords):
            safety = Safety.UNSAFE if recipe.unsafe else Safety.SAFE
            added = ", ".join(f"{name}={code}" for name, code in {**recipe.add, **recipe.set}.items())
            title = (
                f"Use `{added}`{around(recipe)}"
                if added
                else f"Hand `{change.keywords[0]}` over by its name"
                if is_placed
                else f"Drop `{recipe.drop[0]}`"
                if recipe.drop
                else "Rename the argument"
            )
            reason = f"; unsafe because {recipe.unsafe}" if recipe.unsafe else ""
            require(change.needs, ctx, reached)
            return Fix(tuple(call_changes(recipe, call, use, ctx)), safety, title + reason)
    raise NoFix("what takes its place for this value is not known here")
