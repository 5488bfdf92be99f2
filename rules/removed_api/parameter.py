"""An argument that was removed or deprecated.

Why: a keyword that torch has removed raises a TypeError, and one that it deprecates warns. Only keywords that an earlier
release accepted are reported.

    scheduler = StepLR(optimizer, 30, verbose=True)
    →
    scheduler = StepLR(optimizer, 30)

Arguments that a call unpacks (`**options`) are reported if the file spells out the dictionary.

A class that derives from `LRScheduler` and passes `verbose` on to it is reported too, and so is one that derives from
`Sampler` and passes it a `data_source`; a scheduler that reads its own `verbose` has to set it.

Fix safety: safe if the argument had no effect, or another one does the same; otherwise unsafe, and the title says what is
lost.

Source: `torchmigrate/tables/data/changes.toml`, which names the wheels for each.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from torchmigrate.api import Calls, Finding, Kind, NoFix, Rule, Safety, Severity
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.tensors import is_tensor
from torchmigrate.semantics.version_guards import find_reach
from torchmigrate.tables import api_changes

from ._changes import derived_classes
from ._changes.change_fixes import find_declared, fit_minimum
from ._changes.dictionary_arguments import find_unpacked, has_required_arguments
from ._changes.missing_names import has_alternative, tests_parameter
from ._changes.mocked_calls import find_expected_calls
from ._changes.partial_calls import find_partial
from ._changes.recipe_arguments import matches_call
from ._changes.recipe_edits import create_fix, list_call_edits, render_wrapper, write_replacement
from ._changes.use_intent import is_defined_here, is_defined_in_project

if TYPE_CHECKING:
    from torchmigrate.api import Context, Fix, Use
    from torchmigrate.semantics.version_guards import VersionReach
    from torchmigrate.tables.api_changes import ApiChange

_CHANGES = api_changes.index_by_callable(api_changes.ApiChangeKind.PARAMETER)


def _find_trigger_words(change: ApiChange) -> Iterator[str]:
    """Yield a word that a file with a call that passes the argument contains: the keyword, or a word of its value; "" for any."""
    values = [re.match(r"'?(\w+)'?(?:\(|\Z)", code) for code in change.values]
    if values and all(value is not None and value[1] not in ("True", "False") for value in values):
        yield from (value[1] for value in values if value is not None)
    else:
        yield from [""] if change.position is not None else change.keywords


def _list_triggers(of: Sequence[ApiChange]) -> tuple[str, ...]:
    """Return identifiers of which a file must contain one for any of the changes to concern it; empty for no condition."""
    words = [word for change in of for word in _find_trigger_words(change)]
    return tuple(words) if all(words) else ()


_WORDS = {symbol: _list_triggers(of) for symbol, of in _CHANGES.items() if "()" not in symbol}


def _calls(of: Sequence[ApiChange]) -> Calls:
    """Return the condition for calls that a change may concern: calls with a keyword, if no change is about positional arguments."""
    places = [change.position for change in of if change.by_place and change.position is not None]
    if len(places) == len(of):
        return Calls(more_than=min(places))
    if any(change.position is not None for change in of):
        return Calls()
    return Calls(giving=frozenset(name for change in of for name in change.keywords))


rule = Rule(
    code="RM711",
    symbols=tuple(dict.fromkeys((*_CHANGES, *derived_classes.CHANGED_BASES))),
    pairs={"torch.optim.lr_scheduler._LRScheduler": ("verbose",), **_WORDS},
    calls={symbol: _calls(_CHANGES[symbol]) for symbol in _WORDS},
    kinds=frozenset({Kind.CALL, Kind.BASE, Kind.REFERENCE, Kind.STRING}),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.call is not None:
        for change in _CHANGES.get(use.symbol, ()):
            if use.symbol.startswith(".") and not _is_of_tensor(use, ctx, change):
                continue
            given = list(_find_arguments(use.call, change, find_unpacked(use.call, use, ctx)))
            # Few uses do; the search of the project and the control-flow guards take longer.
            if given and has_required_arguments(use.call, change) and not _is_of_project(use, ctx, change):
                yield from _check_call(use, use.call, ctx, change, given)
    elif use.kind in (Kind.REFERENCE, Kind.STRING):
        prepared = find_partial(use, ctx)
        for call in [*find_expected_calls(use), *([prepared] if prepared is not None else [])]:
            for change in _CHANGES.get(use.symbol, ()):
                found = _find_arguments(call, change, iter(()))
                named = [one for one in found if isinstance(one, ast.keyword)]
                if named and not change.by_place and has_required_arguments(call, change):
                    yield from _check_call(use, call, ctx, change, named)
    elif use.symbol in derived_classes.CHANGED_BASES and isinstance(use.place.statement, ast.ClassDef):
        reached = find_reach(use, ctx.uses)
        if not has_alternative(use, ctx, reached):
            yield from derived_classes.check_derived(use, use.place.statement, ctx, reached)


def _is_of_tensor(use: Use, ctx: Context, change: ApiChange) -> bool:
    """Return whether a method may be one of a tensor: only tensors have it, or it is called on one."""
    assert isinstance(use.node, ast.Attribute)
    if is_defined_here(use, change, ctx) and not _is_super(use.node.value):
        return False
    return not change.common or is_tensor(use.node.value, use.place, ctx.uses)


def _is_of_project(use: Use, ctx: Context, change: ApiChange) -> bool:
    """Return whether a method may be one that the project defines for its own objects."""
    return (
        use.symbol.startswith(".")
        and not change.common
        and not _is_super(use.node.value)  # type: ignore[union-attr]
        and is_defined_in_project(use, ctx)
    )


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == "super"


def _check_call(
    use: Use, call: ast.Call, ctx: Context, change: ApiChange, given: Sequence[ast.keyword | ast.expr]
) -> Iterator[Finding]:
    """Yield the finding for a call that passes the arguments ``given``, which a change is about."""
    reached, target = find_reach(use, ctx.uses), ctx.options.target
    severity = change.find_severity(target)
    if (
        has_alternative(use, ctx, reached)
        or tests_parameter(use, change.keywords[0])
        or (change.place_of and change.gone is not None and change.gone <= find_declared(ctx, reached))
        or (severity is Severity.WARNING and reached.unheard)
        or (severity is Severity.ERROR and reached.caught & {"TypeError", "Exception", "BaseException"})
    ):
        return
    blamed = [_find_blamed(call, change)] if change.by_place or change.blamed else given
    names = " and ".join(_render_argument(argument, change) for argument in blamed)
    subject = f"{names} passed positionally to" if change.by_place else f"{names} of"
    state = change.describe_state(target, several=len(blamed) > 1)
    yield ctx.finding(
        use,
        f"{subject} `{{symbol}}` {state}; {change.instead}",
        severity=severity,
        fix=(lambda: _create_fix(use, call, ctx, change, reached)) if change.recipes else None,
        span=ctx.source.span_of(blamed[0]),
        source=change.source,
    )


def _find_blamed(call: ast.Call, change: ApiChange) -> ast.keyword | ast.expr:
    """Return the argument of a call that a message names, where another one shows that a change concerns the call."""
    if change.blamed:
        return next(keyword for keyword in call.keywords if keyword.arg == change.blamed)
    assert change.position is not None
    taken = ([name.strip() for name in (recipe.takes or "").split(",")] for recipe in change.recipes)
    orders = (*taken, *(recipe.name for recipe in change.recipes))
    named = (names.index(change.keywords[0]) for names in orders if change.keywords[0] in names)
    return call.args[next(named, change.position)]


def _render_argument(argument: ast.keyword | ast.expr, change: ApiChange) -> str:
    """Return an argument as messages show it, with its value if the change is about that value only."""
    if isinstance(argument, ast.expr):
        return f"`{change.keywords[0]}`"
    value = ast.unparse(argument.value)
    return f"`{argument.arg}={value if value in change.values else ''}`"


def _find_arguments(
    call: ast.Call, change: ApiChange, unpacked: Iterator[ast.keyword]
) -> Iterator[ast.keyword | ast.expr]:
    """Yield the arguments of a call that a change is about, including those that ``**`` unpacks."""
    if not change.by_place:
        yield from (
            one
            for one in (*call.keywords, *unpacked)
            if one.arg in change.keywords and _is_meant(one.value, change)
        )
    if change.position is not None and len(call.args) > change.position:
        before = call.args[: change.position + 1]
        is_known = not any(isinstance(argument, ast.Starred) for argument in before)
        if is_known and _is_meant(before[-1], change):
            yield before[-1]


def _is_meant(value: ast.expr, change: ApiChange) -> bool:
    code = ast.unparse(value)
    is_listed = not change.values or any(fnmatchcase(code, one) for one in change.values)
    number = value.operand if isinstance(value, ast.UnaryOp) else value
    is_number = isinstance(number, ast.Constant) and isinstance(number.value, (int, float))
    kind = "number" if is_number else ""
    return is_listed and not any(one == kind or fnmatchcase(code, one) for one in change.excluded)


def _create_fix(use: Use, call: ast.Call, ctx: Context, change: ApiChange, reached: VersionReach) -> Fix:
    if use.call is None and any(one.write or one.around or one.first or one.name for one in change.recipes):
        raise NoFix("this is no call, but `functools.partial` of one, or what a test expects of a mock")
    is_placed = change.position is not None and len(call.args) > change.position
    is_starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    if any(keyword.arg is None for keyword in call.keywords) or (
        is_placed and change.by_place and is_starred
    ):
        raise NoFix("the arguments of the call are not written out")
    as_keyword = f"Pass `{change.keywords[0]}` by keyword"
    for recipe in change.recipes:
        if recipe.write and (edits := write_replacement(recipe, use, ctx)) is not None:
            is_placed_again = change.by_place and f"{change.keywords[0]}=" not in recipe.write
            title = "Add the argument that comes before it now" if is_placed_again else as_keyword
            return fit_minimum(create_fix(edits, title, recipe), change, ctx, reached)
        if recipe.write or (is_placed and len(call.args) > len(recipe.name)):
            continue
        if matches_call(recipe, call) and not any(keyword.arg in recipe.add for keyword in call.keywords):
            added = ", ".join(f"{name}={code}" for name, code in {**recipe.add, **recipe.set}.items())
            title = f"Drop `{recipe.drop[0]}`" if recipe.drop else "Rename the argument"
            title = f"Use `{added}`{render_wrapper(recipe)}" if added else as_keyword if is_placed else title
            fix = create_fix(list_call_edits(recipe, call, use, ctx), title, recipe)
            return fit_minimum(fix, change, ctx, reached)
    if is_placed and not (change.by_place or any(recipe.write for recipe in change.recipes)):
        raise NoFix("the argument is passed positionally")
    raise NoFix("there is no automatic replacement for this value")
