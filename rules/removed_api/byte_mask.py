"""A mask of bytes, made by `x.byte()`, where torch wants booleans.

Why: `masked_fill`, `masked_select` and `masked_scatter` reject such a mask, and so does `x[mask] = 0`; other indexing and
`torch.where` warn.

    mask = (lengths > 3).byte()
    scores.masked_fill_(mask, 0)
    →
    mask = (lengths > 3).bool()
    scores.masked_fill_(mask, 0)

A mask is followed through variables, attributes of `self` and methods such as `cuda` and `unsqueeze`. One that is also used as
a number keeps its bytes, and is converted where it is a mask.

Fix safety: safe; any byte but 0 is true in both.

Source: torch 2.0 and 2.15 wheels: torch/lib/libtorch_cpu ("masked_fill_ only supports boolean masks", "where received a uint8
condition tensor", "indexing with dtype torch.uint8 is now deprecated"); https://github.com/pytorch/pytorch/pull/97999
(`masked_scatter`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, Rule, Safety, Severity
from torchmigrate.rewrite.changes import replace
from torchmigrate.semantics.dataflow import ValueEscapes
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.version_guards import find_reach

from ._masks.mask_places import find_mask_places, names_function

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_FILLED = "[]="
"""An index of what a number is assigned to, which `masked_fill_` fills."""
_REFUSING = frozenset(
    {"masked_fill", "masked_fill_", "masked_select", "masked_scatter", "masked_scatter_", _FILLED}
)
_WARNING = frozenset({"where"})
_REFUSED = (2, 1)

rule = Rule(
    code="RM709",
    symbols=(".byte",),
    pairs={".byte": ()},
    message="a mask of bytes has warned since torch 1.2, and `masked_fill` and its like reject it; use `bool()`",
    kinds=frozenset({Kind.CALL}),
    deprecated=(2, 0),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call = use.call
    if call is None or call.args or call.keywords or find_reach(use, ctx.uses).unheard:
        return
    try:
        places = find_mask_places(call, ctx)
    except ValueEscapes:
        return
    masked = {place: function for place in places if (function := _find_function(place, ctx)) is not None}
    if not masked:
        return
    fails = ctx.options.target >= _REFUSED and not _REFUSING.isdisjoint(masked.values())
    yield ctx.finding(
        use,
        severity=Severity.ERROR if fails else None,
        fix=lambda: _create_fix(use, call, places, list(masked)),
    )


def _find_function(place: ast.expr, ctx: Context) -> str | None:
    """Return the function that takes an expression as a mask; "" for another index, None for no mask."""
    parent = ctx.uses.data_flow.parents.get(place)
    if isinstance(parent, ast.Subscript) and parent.slice is place:
        match ctx.uses.data_flow.parents.get(parent):
            case ast.Assign(
                value=ast.Constant(value=int() | float()) | ast.UnaryOp(op=ast.USub(), operand=ast.Constant())
            ):
                return _FILLED
        return ""
    if not isinstance(parent, ast.Call):
        return None
    name = last_name(parent.func) or ""
    if name not in _REFUSING | _WARNING:
        return None
    is_function = names_function(parent, f"torch.{name}", ctx)
    position = 1 if is_function and name != "where" else 0
    return name if parent.args[position : position + 1] == [place] else None


def _create_fix(use: Use, call: ast.Call, places: list[ast.expr], masked: list[ast.expr]) -> Fix:
    if len(masked) == len(places):
        assert isinstance(use.node, ast.Attribute)
        return Fix((replace(call, "{mask}.bool()", mask=use.node.value),), Safety.SAFE, "Use `bool()`")
    changes = tuple(replace(place, "{mask}.bool()", mask=place) for place in masked)
    return Fix(changes, Safety.SAFE, "Use `bool()` where it is a mask")
