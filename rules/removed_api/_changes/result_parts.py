"""The part of an old function's result that the new function returns: selected, unpacked, or kept in a variable."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.rewrite.changes import replace
from torchmigrate.semantics.dataflow import ValueEscapes

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.model.findings import FixChange
    from torchmigrate.tables.change_recipes import ChangeRecipe

_MORE = "the old function returns more than the new one; select the part that you need right at the call"


def find_replaced(
    recipe: ChangeRecipe, call: ast.Call, use: Use, ctx: Context
) -> tuple[ast.expr, list[FixChange]]:
    """Return the expression that a recipe replaces, and the edits of the code that reads its result. Raises NoFix."""
    if not recipe.result:
        return call, []
    parent = ctx.uses.data_flow.parents.get(call)
    if isinstance(parent, (ast.Attribute, ast.Subscript)):
        _check_part(parent, call, recipe)
        return parent, []
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Tuple):
        return call, [_narrow_target(parent, parent.targets[0], recipe, use, ctx)]
    try:
        places = list(ctx.uses.data_flow.find_value_places(call, use.place.scope))
    except ValueEscapes:
        places = []
    edits: list[FixChange] = []
    for place in places:
        reader = ctx.uses.data_flow.parents[place]
        if place is call or not isinstance(reader, (ast.Attribute, ast.Subscript)):
            raise NoFix(_MORE)
        _check_part(reader, place, recipe)
        edits.append(replace(reader, "{value}", value=place))
    if not edits:
        raise NoFix(_MORE)
    return call, edits


def is_unpacked(recipe: ChangeRecipe, call: ast.Call, use: Use, ctx: Context) -> bool:
    """Return whether a result is unpacked into two names, the second of which the recipe's new function does not give."""
    match ctx.uses.data_flow.parents.get(call):
        case ast.Assign(targets=[ast.Tuple(elts=[ast.expr(), ast.Name() as other])]):
            return "[0]" in recipe.result and _is_read(other, use, ctx)
    return False


def _check_part(reader: ast.expr, value: ast.expr, recipe: ChangeRecipe) -> None:
    """Raise NoFix unless the new function returns the part of the result that is read."""
    if ast.unparse(reader).removeprefix(ast.unparse(value)) not in recipe.result:
        raise NoFix("the new function does not return the part of the result that is used here")


def _narrow_target(
    statement: ast.Assign, target: ast.Tuple, recipe: ChangeRecipe, use: Use, ctx: Context
) -> FixChange:
    """Return the edit of ``x, _ = old()`` to ``x = new()``. Raises NoFix if other parts are used."""
    kept = [element for i, element in enumerate(target.elts) if f"[{i}]" in recipe.result]
    if len(statement.targets) != 1 or len(kept) != 1 or isinstance(kept[0], ast.Starred):
        raise NoFix(_MORE)
    for element in target.elts:
        if element is not kept[0] and _is_read(element, use, ctx):
            raise NoFix(f"`{ast.unparse(element)}` has a part of the old result that the new function lacks")
    return replace(target, "{value}", value=kept[0])


def _is_read(target: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether something may read what an assignment binds."""
    scope = use.place.scope
    if not isinstance(target, ast.Name) or target.id in scope.outer:
        return True
    reaching = ctx.uses.data_flow.find_reaching(target.id, scope)
    is_visible = scope is ctx.uses.scopes.module or scope.is_class
    read = any(target in state for state in reaching.reads.values()) or bool(reaching.captured)
    return read or (is_visible and not target.id.startswith("_"))
