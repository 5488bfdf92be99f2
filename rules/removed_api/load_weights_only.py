"""`torch.load` without `weights_only`.

Why: the default is `False` up to torch 2.5, which warns since 2.4, and `True` from torch 2.6: files that hold anything
but tensors, plain containers and allowed classes are refused. With `pickle_module` it still means `False`.

    model.load_state_dict(torch.load(path))
    →
    model.load_state_dict(torch.load(path, weights_only=True))

What to do: say which one is meant. `True` where the file holds a state dict; `False`, which lets the file run any code,
only where it is your own; or allow the classes with `torch.serialization.add_safe_globals`.

Nothing is said where the oldest torch that the project supports is 2.6 or newer. What goes straight into
`load_state_dict` is info from torch 2.6 on: the new default loads it. So is what runs only after a TypeError, where a torch
does not know the argument.

Fix safety: unsafe. `weights_only=True` is added where the result goes into `load_state_dict`: a state dict with other
objects in it is refused. Elsewhere `weights_only=False` keeps what the code did, with the risk that the new default
takes away.

Source: torch 2.4, 2.5 and 2.6 wheels: torch/serialization.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from torchmigrate.api import Calls, Finding, Fix, Kind, NoFix, Rule, Safety, Severity
from torchmigrate.rewrite.changes import AddArgument, template
from torchmigrate.semantics.dataflow import Escape
from torchmigrate.semantics.guards import reach
from torchmigrate.semantics.resolve import leaf

from ._changes.making import oldest
from ._changes.prepared import asks_for, gives_it_elsewhere, is_guarded, tried_before

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_SYMBOLS = ("torch.load", "torch.serialization.load")

rule = Rule(
    code="RM721",
    symbols=_SYMBOLS,
    pairs=dict.fromkeys(_SYMBOLS, ()),
    calls=dict.fromkeys(_SYMBOLS, Calls(without=frozenset(["weights_only"]))),
    message="`{symbol}` without `weights_only=`: the default is `True` from torch 2.6, which refuses files that hold more "
    "than tensors and plain containers",
    kinds=frozenset({Kind.CALL, Kind.REFERENCE}),
    deprecated=(2, 4),
    safety=Safety.UNSAFE,
)

_WARNS = (2, 4)
_FLIPPED = (2, 6)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call, target = use.call or _handed(use, ctx), ctx.options.target
    if call is None or target < _WARNS or _says(call.args if use.call else call.args[1:], call):
        return
    reached = reach(use, ctx.uses)
    if oldest(ctx, reached) >= _FLIPPED or asks_for(use, "weights_only"):
        return
    if gives_it_elsewhere(use, "weights_only"):
        return
    if is_guarded(use, ctx, reached, is_always_there=True):
        return
    open_ended = any(keyword.arg is None for keyword in call.keywords)
    weights = _is_state_dict(call, use, ctx)
    for_older = "TypeError" in reached.fallback or _follows_one_that_says(use)
    mild = (
        open_ended or for_older or (weights and target >= _FLIPPED) or (reached.unheard and target < _FLIPPED)
    )
    yield ctx.finding(
        use,
        severity=Severity.INFO if mild else None,
        fix=None if open_ended else lambda: _fix(call, weights, for_older, mapped=_maps(use.call or call)),
    )


def _follows_one_that_says(use: Use) -> bool:
    """Whether the use stands in the handler of a ``try`` that loads with `weights_only`."""
    tried = (below for statement in tried_before(use) for below in ast.walk(statement))
    return any(isinstance(below, ast.keyword) and below.arg == "weights_only" for below in tried)


def _handed(use: Use, ctx: Context) -> ast.Call | None:
    """The call that is given the function to call it with no more than it says: `functools.partial`, and ``map`` over one
    list."""
    call = use.parents[-1] if use.parents else None
    if not isinstance(call, ast.Call) or call.args[:1] != [use.node]:
        return None
    return call if _maps(call) or ctx.is_named(call.func, use, "functools.partial") else None


def _maps(call: ast.Call) -> bool:
    return leaf(call.func) == "map" and len(call.args) == 2 and not call.keywords


def _says(arguments: list[ast.expr], call: ast.Call) -> bool:
    """Whether a call says what is loaded how: by `weights_only`, or with a pickle module."""
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    module = keywords.get("pickle_module") or (arguments[2] if len(arguments) > 2 else None)
    chosen = module is not None and not (isinstance(module, ast.Constant) and module.value is None)
    return "weights_only" in keywords or chosen or any(isinstance(a, ast.Starred) for a in call.args)


def _is_state_dict(call: ast.Call, use: Use, ctx: Context) -> bool:
    """Whether all that happens to the result is that it goes into `load_state_dict`."""
    parents = ctx.uses.flow.parents
    places: list[ast.expr] = [call]
    parent = parents.get(call)
    if isinstance(parent, (ast.Assign, ast.AnnAssign)):
        try:
            places = list(ctx.uses.flow.places(call, use.place.scope))
        except Escape:
            return False
    return bool(places) and all(_goes_in(place, parents) for place in places)


def _goes_in(place: ast.expr, parents: Mapping[ast.AST, ast.AST]) -> bool:
    parent = parents.get(place)
    return (
        isinstance(parent, ast.Call)
        and leaf(parent.func) == "load_state_dict"
        and bool(parent.args)
        and parent.args[0] is place
    )


def _fix(call: ast.Call, weights: bool, for_older: bool, *, mapped: bool) -> Fix:
    if mapped:
        raise NoFix("`map` hands over the file alone; call it in a comprehension")
    if for_older:
        raise NoFix("it runs where torch does not know the argument")
    value = "True" if weights else "False"
    reason = (
        "a state dict that holds other objects is refused"
        if weights
        else "the file can run any code: only for files of your own"
    )
    change = AddArgument(call, template(value), keyword="weights_only")
    return Fix((change,), Safety.UNSAFE, f"Add `weights_only={value}`; unsafe because {reason}")
