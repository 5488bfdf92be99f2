"""Where a mask goes that code makes, and what takes it there."""

from __future__ import annotations

import ast
import os
import re
from typing import TYPE_CHECKING

from torchmigrate.semantics.dataflow import ValueEscapes
from torchmigrate.semantics.name_resolution import last_name, string_value

if TYPE_CHECKING:
    from torchmigrate.api import Context

_SAME = frozenset(
    """
    clone contiguous cpu cuda detach expand expand_as flatten permute repeat reshape squeeze t transpose unsqueeze view view_as
    """.split()  # noqa: SIM905 -- a list of names is read as one
)
"""Methods that return the same values, in another shape or elsewhere."""
_VARIABLE = "torch.autograd.Variable"


def find_mask_places(made: ast.expr, ctx: Context) -> list[ast.expr]:
    """Return the expressions at which a mask is used, through methods that keep its values, variables and attributes.

    Raises `ValueEscapes` where it cannot be followed: among others to an attribute that another file names.
    """
    found, waiting = list[ast.expr](), [made]
    for value in waiting:  # which grows
        reached = _follow_mask(value, ctx)
        if reached == [value]:
            found.append(value)
        waiting += [one for one in reached if one not in waiting]
    return found


def _follow_mask(value: ast.expr, ctx: Context) -> list[ast.expr]:
    """Return the expressions with the same mask that an expression leads to; itself, if it is used there."""
    flow = ctx.uses.data_flow
    parent = flow.parents.get(value)
    outer = flow.parents.get(parent) if parent is not None else None
    match parent:
        case ast.Attribute(attr=method) if isinstance(outer, ast.Call) and outer.func is parent:
            return [outer] if method in _SAME or (method == "to" and _names_device(outer)) else [value]
        case ast.Call(args=[first, *_]) if first is value and names_function(parent, _VARIABLE, ctx):
            return [parent]
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)]):
            return _find_reads(name, ctx)
        case ast.Assign() | ast.AnnAssign():
            return [*flow.find_value_places(value, ctx.uses.scope_of(value))]
    return [value]


def names_function(call: ast.Call, name: str, ctx: Context) -> bool:
    """Return whether a call, anywhere in the file, certainly calls the function with a qualified name."""
    resolved = ctx.uses.resolve_node(call.func)
    return resolved is not None and resolved.certain and resolved.names == (name,)


def _names_device(call: ast.Call) -> bool:
    """Return whether `to` moves a tensor to a device: ``x.to("cuda")``, ``x.to(self.device)``."""
    given = [*call.args, *(word.value for word in call.keywords if word.arg == "device")]
    return len(given) == len(call.args) + len(call.keywords) == 1 and (
        string_value(given[0]) is not None or "device" in (last_name(given[0]) or "")
    )


def _find_reads(name: str, ctx: Context) -> list[ast.expr]:
    """Return the reads of an attribute of ``self`` in the file. Raises `ValueEscapes` if another object or file has the name."""
    sought = ((name,), (rf"\.{re.escape(name)}\b",))
    nodes = [
        node for node in ctx.uses.data_flow.parents if isinstance(node, ast.Attribute) and node.attr == name
    ]
    is_own = all(isinstance(node.value, ast.Name) and node.value.id == "self" for node in nodes)
    if not is_own or ctx.project.find_spellings(sought, beside=os.path.abspath(ctx.source.path)):
        raise ValueEscapes(f"is kept in `{name}`, which other code may read")
    return [node for node in nodes if isinstance(node.ctx, ast.Load)]
