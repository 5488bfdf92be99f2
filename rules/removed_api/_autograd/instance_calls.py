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


def find_instance_calls(made: ast.Call, use: Use, ctx: Context) -> InstanceCalls:
    """Return the calls of the object that a call returns: at once, through a variable, or as an attribute of ``self``."""
    parents = ctx.uses.data_flow.parents
    calls, other = list[ast.Call](), None
    for place in _find_places(made, use, ctx):
        parent = parents.get(place)
        if isinstance(parent, ast.Call) and parent.func is place:
            calls.append(parent)
        else:
            other = place
    return InstanceCalls(calls, other)


def is_only_applied(made: ast.Call, use: Use, ctx: Context) -> bool:
    """Return whether every place with the object that a call returns is its ``apply``, which its class has as well."""
    parents = ctx.uses.data_flow.parents
    around = [parents.get(place) for place in _find_places(made, use, ctx)]
    return bool(around) and all(isinstance(one, ast.Attribute) and one.attr == "apply" for one in around)


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
