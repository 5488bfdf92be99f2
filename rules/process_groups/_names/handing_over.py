"""The finding about a group's name that is passed as an argument, and the changes that pass the group instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, NoFix, Safety
from torchmigrate.rewrite.changes import Remove, Replace
from torchmigrate.semantics.dataflow import is_located

from .._operators.functions import bound_around
from .._operators.operators import is_part_of_one
from .collectives import TAKERS, group_argument, taker
from .group_names import GroupName, handed_over

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.scopes import Place

_PURE = (ast.Name, ast.Attribute, ast.expr_context)


def finding(use: Use, ctx: Context) -> Iterator[Finding]:
    """Yield the finding about a name that is passed to one of the `TAKERS`, with the fix that passes the group."""
    assert use.call is not None
    argument = group_argument(use.call, use.symbol)
    name = handed_over(argument, use, ctx) if argument is not None else None
    if argument is None or name is None:
        return
    callee = use.symbol.removesuffix(".default").rpartition(".")[2]
    span = ctx.source.span(argument)
    if isinstance(name, GroupName):
        message = f"`{ctx.text(argument)}` is passed to `{callee}`, which takes the process group itself"
        yield ctx.finding(use, message, fix=lambda: _fix(name, argument, ctx), span=span)
    elif not is_part_of_one(use, ctx):
        message = f"{name} is a group's name, passed to `{callee}`, which takes the process group itself"
        hint = "store the ProcessGroup instead of its name, and pass the group"
        yield ctx.finding(use, message, span=span, hint=hint)


def _fix(name: GroupName, argument: ast.expr, ctx: Context) -> Fix:
    if name.doubt is not None:
        raise NoFix(name.doubt)
    text = ctx.shown(name.written)
    title = f"Pass `{text}`"
    if not isinstance(argument, ast.Name) or argument is name.node:
        return Fix((Replace(argument, name.written),), Safety.SAFE, title)
    variable = sole_variable(name.node, ctx)
    reads = variable[1] if variable is not None else []
    # The variable can only hold the group if everything that reads the variable accepts one.
    follow_all = bool(reads) and all(_takes_group(read, ctx) for read in reads)
    stable = [read for read in (reads if follow_all else [argument]) if is_stable(name, read, ctx)]
    if argument in stable:
        replaced = [Replace(read, name.written) for read in stable]
        return Fix((*replaced, *without_variable(name.node, stable, ctx)), Safety.SAFE, title)
    if not follow_all or not isinstance(ctx.uses.flow.parents[name.node], ast.Assign):
        raise NoFix(f"`{ctx.text(name.group)}` may be another group by the time its name is used")
    return Fix((Replace(name.node, name.written),), Safety.SAFE, f"Keep `{text}` instead of its name")


def is_stable(name: GroupName, read: ast.expr, ctx: Context) -> bool:
    """Whether the group, written where its name is read, certainly is the group whose name was taken."""
    origin, scope = ctx.uses.scope_of(name.node), ctx.uses.scope_of(read)
    inside = list(ast.walk(name.group))
    names = {node.id for node in inside if isinstance(node, ast.Name)}
    attributes = {node.attr for node in inside if isinstance(node, ast.Attribute)}
    return (
        all(isinstance(node, _PURE) for node in inside)
        and all(
            origin.find(identifier) is scope.find(identifier) and len(origin.find_bindings(identifier)) == 1
            for identifier in names
        )
        and not names & bound_around(read, ctx.uses.flow.parents)
        and not (
            attributes and origin is not scope
        )  # a function inside runs when the object may have changed
        and not any(
            isinstance(node, ast.Attribute) and node.attr in attributes and not isinstance(node.ctx, ast.Load)
            for node in ast.walk(origin.node)
        )
    )


def sole_variable(value: ast.expr, ctx: Context) -> tuple[Place, list[ast.Name]] | None:
    """Return the only assignment of a value to a local variable, and all reads of the variable."""
    statement = ctx.uses.flow.parents[value]
    place = next((place for place in ctx.uses.scopes.places if place.statement is statement), None)
    if place is None or not isinstance(place.scope.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None  # other files may read the variable of a module
    target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
    if not isinstance(target, ast.Name) or target.id in place.scope.outer:
        return None
    reaching = ctx.uses.flow.reaching(target.id, place.scope)
    if reaching.unclear or len(reaching.bindings) != 1:
        return None
    return place, [*reaching.reads, *reaching.captured]


def without_variable(value: ast.expr, replaced: list[ast.Name], ctx: Context) -> tuple[Remove, ...]:
    """Remove the assignment of ``value`` to a variable if all reads of the variable are replaced."""
    variable = sole_variable(value, ctx)
    if variable is None or not set(replaced).issuperset(variable[1]):
        return ()
    return (Remove(variable[0].statement),)


def _takes_group(read: ast.expr, ctx: Context) -> bool:
    """Whether the value is passed to something that accepts groups at the project's minimum version."""
    parents = ctx.uses.flow.parents
    call = parents[parents[read]] if isinstance(parents[read], ast.keyword) else parents[read]
    if not isinstance(call, ast.Call) or not is_located(call, parents):
        return False
    callee = taker(ctx.uses.names.resolve(call.func, ctx.uses.scope_of(call)))
    if callee is None or TAKERS[callee].since > ctx.options.minimum:
        return False
    return group_argument(call, callee) is read
