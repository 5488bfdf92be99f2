"""Where an object that code makes is called."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.semantics.dataflow import ValueEscapes

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use


class InstanceCalls(NamedTuple):
    """The calls of an object, and a place that does something else with it, if there is one."""

    found: list[ast.Call]
    other: ast.expr | None
    is_only_applied: bool
    """Whether there are other places, and each is its ``apply``, which its class has as well."""


def find_instance_calls(made: ast.Call, use: Use, ctx: Context) -> InstanceCalls:
    """Return the calls of the object that a call returns: at once, through a variable, or as an attribute of ``self``."""
    parents = ctx.uses.data_flow.parents
    calls, others, applied = list[ast.Call](), list[ast.expr](), 0
    for place in _find_places(made, use, ctx):
        match parents.get(place):
            case ast.Call(func=called) as call if called is place:
                calls.append(call)
            case around:
                others.append(place)
                applied += isinstance(around, ast.Attribute) and around.attr == "apply"
    only = not calls and 0 < applied == len(others)
    return InstanceCalls(calls, others[-1] if others else None, only)


def _find_places(made: ast.Call, use: Use, ctx: Context) -> Iterator[ast.expr]:
    """Yield the expressions with the value of a call, as far as they are known."""
    match ctx.uses.data_flow.parents.get(made):
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)]):
            around = (place.statement for place in use.place.enclosing_places())
            owner = next((one for one in around if isinstance(one, ast.ClassDef)), None)
            for node in ast.walk(owner) if owner is not None else ():
                match node:
                    case ast.Attribute(value=ast.Name(id="self"), attr=attr, ctx=ast.Load()) if attr == name:
                        yield node
        case _:
            try:
                yield from [*ctx.uses.data_flow.find_value_places(made, use.place.scope)]
            except ValueEscapes:
                return
