"""`torch.load` without `weights_only`.

Why: the default is `False` up to torch 2.5, with a warning since 2.4, and `True` from torch 2.6, which rejects files that
contain anything but tensors, plain containers and allowed classes. With `pickle_module` it is still `False`.

    model.load_state_dict(torch.load(path))
    →
    model.load_state_dict(torch.load(path, weights_only=True))

What to do: pass the argument. Use `True` if the file contains a state dict; `False`, which lets the file run any code, only
for your own files; or allow the classes with `torch.serialization.add_safe_globals`.

Nothing is reported if the project requires torch 2.6 or newer. From torch 2.6 on, a result that goes straight into
`load_state_dict` is info, because the new default loads it; so is a call that runs only after a TypeError, on a torch
without the argument.

Fix safety: unsafe. If the result goes into `load_state_dict`, the fix adds `weights_only=True`, which rejects a state dict
with other objects in it. Otherwise it adds `weights_only=False`, which keeps the behavior of the code and its risk.

Source: torch 2.4, 2.5 and 2.6 wheels: torch/serialization.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Calls, Finding, Fix, Kind, NoFix, Rule, Safety, Severity
from torchmigrate.rewrite.changes import AddArgument, template
from torchmigrate.semantics.dataflow import ValueEscapes
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.version_guards import find_reach

from ._changes.change_fixes import find_oldest_reaching
from ._changes.missing_names import find_tried, has_alternative, has_other_call, tests_parameter

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_SYMBOLS = ("torch.load", "torch.serialization.load")

rule = Rule(
    code="RM721",
    symbols=_SYMBOLS,
    pairs=dict.fromkeys(_SYMBOLS, ()),
    calls=dict.fromkeys(_SYMBOLS, Calls(without=frozenset(["weights_only"]))),
    message="from torch 2.6 on, `{symbol}` without `weights_only=` rejects files that hold more than tensors and plain containers; pass the argument",
    kinds=frozenset({Kind.CALL, Kind.REFERENCE}),
    deprecated=(2, 4),
    safety=Safety.UNSAFE,
)

_WARNS = (2, 4)
_FLIPPED = (2, 6)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call, target = use.call or _find_deferred(use, ctx), ctx.options.target
    if call is None or target < _WARNS or _decides_loading(call.args if use.call else call.args[1:], call):
        return
    reached = find_reach(use, ctx.uses)
    if find_oldest_reaching(ctx, reached) >= _FLIPPED:
        return
    if tests_parameter(use, "weights_only") or has_other_call(use, "weights_only"):
        return
    if has_alternative(use, ctx, reached, is_always_there=True):
        return
    open_ended = any(keyword.arg is None for keyword in call.keywords)
    weights = _is_state_dict(call, use, ctx)
    tried = (below for statement in find_tried(use) for below in ast.walk(statement))
    is_retry = any(isinstance(below, ast.keyword) and below.arg == "weights_only" for below in tried)
    for_older = "TypeError" in reached.fallback or is_retry
    mild = (
        open_ended or for_older or (weights and target >= _FLIPPED) or (reached.unheard and target < _FLIPPED)
    )
    yield ctx.finding(
        use,
        severity=Severity.INFO if mild else None,
        fix=None
        if open_ended
        else lambda: _create_fix(call, weights, for_older, mapped=_is_map(use.call or call)),
    )


def _find_deferred(use: Use, ctx: Context) -> ast.Call | None:
    """Return the call that takes the function and adds no arguments of its own: `functools.partial`, or ``map`` over one list."""
    call = use.parents[-1] if use.parents else None
    if not isinstance(call, ast.Call) or call.args[:1] != [use.node]:
        return None
    return call if _is_map(call) or ctx.is_named(call.func, use, "functools.partial") else None


def _is_map(call: ast.Call) -> bool:
    return last_name(call.func) == "map" and len(call.args) == 2 and not call.keywords


def _decides_loading(arguments: list[ast.expr], call: ast.Call) -> bool:
    """Return whether a call decides how to load: with `weights_only`, a pickle module, or unknown arguments."""
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    module = keywords.get("pickle_module") or (arguments[2] if len(arguments) > 2 else None)
    chosen = module is not None and not (isinstance(module, ast.Constant) and module.value is None)
    return "weights_only" in keywords or chosen or any(isinstance(a, ast.Starred) for a in call.args)


def _is_state_dict(call: ast.Call, use: Use, ctx: Context) -> bool:
    """Return whether the result is only passed to `load_state_dict`."""
    try:
        places = list(ctx.uses.data_flow.find_value_places(call, use.place.scope))
    except ValueEscapes:
        return False
    parents = ((place, ctx.uses.data_flow.parents.get(place)) for place in places)
    return bool(places) and all(
        isinstance(parent, ast.Call)
        and last_name(parent.func) == "load_state_dict"
        and parent.args[:1] == [place]
        for place, parent in parents
    )


def _create_fix(call: ast.Call, weights: bool, for_older: bool, *, mapped: bool) -> Fix:
    if mapped:
        raise NoFix("`map` passes only the file; replace it with a comprehension")
    if for_older:
        raise NoFix("this code runs on a torch version without the argument")
    value = "True" if weights else "False"
    reason = "it rejects a state dict with other objects" if weights else "the file can run any code"
    change = AddArgument(call, template(value), keyword="weights_only")
    return Fix((change,), Safety.UNSAFE, f"Add `weights_only={value}`; unsafe because {reason}")
