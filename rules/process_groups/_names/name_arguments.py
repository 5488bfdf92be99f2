"""The finding about a group's name that is passed as an argument, and the changes that pass the group instead."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Fix, NoFix, Safety, Use
from torchmigrate.rewrite.changes import Remove, Replace
from torchmigrate.semantics.dataflow import has_exact_position
from torchmigrate.semantics.scopes import StatementPlace

from .._operators.custom_operators import is_in_operator
from .._operators.function_parts import find_local_bindings
from .group_names import GroupNameSource, trace_group_name
from .group_takers import TAKERS, find_group_argument, find_taker

_PURE = (ast.Name, ast.Attribute, ast.expr_context)


def check_group_argument(use: Use, ctx: Context) -> Iterator[Finding]:
    """Yield the finding about a name that is passed to one of the `TAKERS`, with the fix that passes the group."""
    assert use.call is not None
    argument = find_group_argument(use.call, use.symbol)
    name = trace_group_name(argument, use, ctx) if argument is not None else None
    if argument is None or name is None:
        return
    callee = use.symbol.removesuffix(".default").rpartition(".")[2]
    span = ctx.source.span_of(argument)
    if isinstance(name, GroupNameSource):
        message = f"`{ctx.get_text(argument)}` is passed to `{callee}`, which takes the process group itself"
        yield ctx.finding(use, message, fix=lambda: _create_fix(name, argument, ctx), span=span)
    elif not is_in_operator(use, ctx):
        message = (
            f"{name} is the name of a group and is passed to `{callee}`, which takes the process group itself"
        )
        hint = "store the process group instead of its name, and pass the group"
        yield ctx.finding(use, message, span=span, hint=hint)


def _create_fix(name: GroupNameSource, argument: ast.expr, ctx: Context) -> Fix:
    if name.doubt is not None:
        raise NoFix(name.doubt)
    text = ctx.render_template(name.replacement)
    title = f"Pass `{text}`"
    if not isinstance(argument, ast.Name) or argument is name.node:
        return Fix((Replace(argument, name.replacement),), Safety.SAFE, title)
    variable = find_sole_variable(name.node, ctx)
    reads = variable[1] if variable is not None else []
    # The variable can only hold the group if everything that reads the variable accepts one.
    follow_all = bool(reads) and all(_takes_group(read, ctx) for read in reads)
    stable = [read for read in (reads if follow_all else [argument]) if is_stable(name, read, ctx)]
    if argument in stable:
        replaced = [Replace(read, name.replacement) for read in stable]
        return Fix((*replaced, *remove_variable(name.node, stable, ctx)), Safety.SAFE, title)
    if not follow_all or not isinstance(ctx.uses.data_flow.parents[name.node], ast.Assign):
        raise NoFix(f"`{ctx.get_text(name.group)}` may be another group by the time its name is used")
    return Fix((Replace(name.node, name.replacement),), Safety.SAFE, f"Keep `{text}` instead of its name")


def is_stable(name: GroupNameSource, read: ast.expr, ctx: Context) -> bool:
    """Return whether the group, written where its name is read, certainly is the group whose name was taken."""
    origin, scope = ctx.uses.scope_of(name.node), ctx.uses.scope_of(read)
    inside = list(ast.walk(name.group))
    names = {node.id for node in inside if isinstance(node, ast.Name)}
    attributes = {node.attr for node in inside if isinstance(node, ast.Attribute)}
    return (
        all(isinstance(node, _PURE) for node in inside)
        and all(
            origin.find_scope(identifier) is scope.find_scope(identifier)
            and len(origin.find_bindings(identifier)) == 1
            for identifier in names
        )
        and not names & find_local_bindings(read, ctx.uses.data_flow.parents)
        # A function inside runs when the object may have changed.
        and not (attributes and origin is not scope)
        and not any(
            isinstance(node, ast.Attribute) and node.attr in attributes and not isinstance(node.ctx, ast.Load)
            for node in ast.walk(origin.node)
        )
    )


def find_sole_variable(value: ast.expr, ctx: Context) -> tuple[StatementPlace, list[ast.Name]] | None:
    """Return the only assignment of a value to a local variable, and all reads of the variable."""
    statement = ctx.uses.data_flow.parents[value]
    place = next((place for place in ctx.uses.scopes.places if place.statement is statement), None)
    if place is None or not isinstance(place.scope.node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None  # other files may read the variable of a module
    target = statement.targets[0] if isinstance(statement, ast.Assign) else getattr(statement, "target", None)
    if not isinstance(target, ast.Name) or target.id in place.scope.outer:
        return None
    reaching = ctx.uses.data_flow.find_reaching(target.id, place.scope)
    if reaching.unclear or len(reaching.bindings) != 1:
        return None
    return place, [*reaching.reads, *reaching.captured]


def remove_variable(value: ast.expr, replaced: list[ast.Name], ctx: Context) -> tuple[Remove, ...]:
    """Remove the assignment of ``value`` to a variable if all reads of the variable are replaced."""
    variable = find_sole_variable(value, ctx)
    if variable is None or not set(replaced).issuperset(variable[1]):
        return ()
    return (Remove(variable[0].statement),)


def _takes_group(read: ast.expr, ctx: Context) -> bool:
    """Return whether the value is passed to something that accepts groups at the project's minimum version."""
    parents = ctx.uses.data_flow.parents
    call = parents[parents[read]] if isinstance(parents[read], ast.keyword) else parents[read]
    if not isinstance(call, ast.Call) or not has_exact_position(call, parents):
        return False
    callee = find_taker(ctx.uses.resolve_node(call.func))
    if callee is None or TAKERS[callee].since > ctx.options.minimum:
        return False
    return find_group_argument(call, callee) is read
