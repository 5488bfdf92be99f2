"""`pretrained=` of a torchvision model, which `weights=` replaces.

Why: since torchvision 0.13, which belongs to torch 1.12, `pretrained=` and `pretrained_backbone=` warn, also as the first
positional argument.

    model = torchvision.models.resnet50(pretrained=True)
    →
    model = torchvision.models.resnet50(weights="IMAGENET1K_V1")

Fix safety: safe; the weights are those that `pretrained=True` stands for. Newer ones, where there are any, have other values:
pass `weights="DEFAULT"` for the best.

Source: torchvision 0.13 and 0.29 wheels: torchvision/models/_utils.py, and the decorators of the model builders, which
`torchmigrate/tables/data/model_weights.json` was read from.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, NoFix, Rule, Safety, Severity
from torchmigrate.rewrite.changes import NameArgument, Rename, replace
from torchmigrate.semantics.dataflow import ValueEscapes
from torchmigrate.semantics.name_resolution import string_value
from torchmigrate.semantics.version_guards import find_reach
from torchmigrate.tables.companion_releases import render_release
from torchmigrate.tables.model_weights import WeightsArgument, load_arguments

from ._changes.missing_names import has_alternative

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.model.findings import FixChange

_ARGUMENTS = load_arguments()
_WARNS = (1, 12)
_DICTIONARY, _MODULE = "torchvision.models.__dict__", "torchvision.models"
_BY_NAME = (_MODULE, _DICTIONARY)
_OF_ANY = WeightsArgument("pretrained", "weights", "IMAGENET1K_V1", None)
"""The argument of a model whose name is not written: all models in `torchvision.models` have weights of this name."""

rule = Rule(
    code="RM763",
    symbols=(*_ARGUMENTS, *_BY_NAME),
    pairs={**dict.fromkeys(_ARGUMENTS, ()), **dict.fromkeys(_BY_NAME, ("pretrained",))},
    kinds=frozenset({Kind.CALL, Kind.REFERENCE}),
    since=_WARNS,
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    calls = _find_calls_by_name(use, ctx) if use.symbol in _BY_NAME else [use.call] if use.call else []
    found = [
        (call, argument, given)
        for call in calls
        for argument in _ARGUMENTS.get(use.symbol, (_OF_ANY,))
        if (given := _find_argument(call, argument)) is not None
    ]
    reached = find_reach(use, ctx.uses) if found else None
    if reached is None or reached.unheard or has_alternative(use, ctx, reached):
        return
    for call, argument, given in found:
        yield ctx.finding(
            use,
            f"`{argument.old}{'=' if isinstance(given, ast.keyword) else ''}` of `{{symbol}}` has warned since {render_release('torchvision', _WARNS)}; "
            f"pass `{argument.new}=`",
            severity=Severity.WARNING,
            span=ctx.source.span_of(given),
            fix=partial(_create_fix, call, argument, given),
        )


def _find_calls_by_name(use: Use, ctx: Context) -> list[ast.Call]:
    """List the calls of a model whose name is not written: ``models.__dict__[name](…)``, or ``getattr(models, name)(…)``.

    The model may stand in a variable before it is called.
    """
    read = use.parents[-1] if use.parents else None
    match read:
        case ast.Subscript(value=value) if value is use.node and use.symbol == _DICTIONARY:
            pass
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, name, *_]) if (
            owner is use.node and use.symbol == _MODULE and string_value(name) is None
        ):
            pass
        case _:
            return []
    flow = ctx.uses.data_flow
    try:
        parents = [(place, flow.parents[place]) for place in flow.find_value_places(read, use.place.scope)]
    except ValueEscapes:
        return []
    return [parent for place, parent in parents if isinstance(parent, ast.Call) and parent.func is place]


def _find_argument(call: ast.Call, argument: WeightsArgument) -> ast.keyword | ast.Constant | None:
    """Return the old argument of a call; by position, only a literal shows that it is not the new one."""
    first = call.args[0] if call.args else None
    if argument.old == "pretrained" and isinstance(first, ast.Constant) and isinstance(first.value, bool):
        return first
    return next((keyword for keyword in call.keywords if keyword.arg == argument.old), None)


def _create_fix(call: ast.Call, argument: WeightsArgument, given: ast.keyword | ast.Constant) -> Fix:
    if any(keyword.arg == argument.new for keyword in call.keywords):
        raise NoFix(f"the call passes `{argument.new}=`, too")
    value = given.value if isinstance(given, ast.keyword) else given
    changes: list[FixChange] = []
    if isinstance(given, ast.keyword):
        changes.append(Rename(given, argument.new))
    elif len(call.args) > 2 or isinstance(call.args[-1], ast.Starred):
        raise NoFix("the arguments after it are passed positionally, too; name them first")
    else:
        changes += map(NameArgument, call.args, (argument.new, "progress"))
    code, title = _write_value(call, argument, value)
    changes.append(replace(value, code, old=value) if "{old}" in code else replace(value, code))
    return Fix(tuple(changes), Safety.SAFE, f"Use `{argument.new}={title}`")


def _write_value(call: ast.Call, argument: WeightsArgument, value: ast.expr) -> tuple[str, str]:
    """Return the code of the new argument, as a template and for a title. Raises NoFix."""
    literal = isinstance(value, ast.Constant)
    if literal and not value.value:  # type: ignore[attr-defined]
        return "None", "None"
    if literal and isinstance(value.value, str):  # type: ignore[attr-defined]
        raise NoFix("there is no automatic replacement for this value")
    weights = argument.weights
    if argument.quantized is not None:
        quantize = next((keyword.value for keyword in call.keywords if keyword.arg == "quantize"), None)
        unpacked = any(keyword.arg is None for keyword in call.keywords)
        if unpacked or (quantize is not None and not isinstance(quantize, ast.Constant)):
            raise NoFix("which weights it stands for depends on `quantize`")
        weights = argument.quantized if isinstance(quantize, ast.Constant) and quantize.value else weights
    if weights is None:
        raise NoFix("torchvision has no weights for this model, so only `weights=None` is possible")
    return (
        (f'"{weights}"',) * 2
        if literal
        else (f'"{weights}" if {{old}} else None', f'"{weights}" if … else None')
    )
