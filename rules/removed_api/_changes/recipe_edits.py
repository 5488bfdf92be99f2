"""The edits of the recipes in the table; see `torchmigrate.tables.change_recipes.ChangeRecipe`."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, Kind, NoFix, Safety
from torchmigrate.model.findings import FixChange as Edit
from torchmigrate.project.import_closure import find_connected_files
from torchmigrate.rewrite.changes import (
    MoveImport,
    Part,
    ReplaceStatement,
    replace,
    template,
)
from torchmigrate.semantics.dataflow import ValueEscapes
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.tensors import is_matrix, is_tensor
from torchmigrate.tables import api_changes
from torchmigrate.tables.change_recipes import ChangeRecipe

from .recipe_arguments import bind_arguments, is_written_as, list_argument_edits
from .result_parts import find_replaced, is_unpacked

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.tables.api_changes import ApiChange

_NAME = re.compile(r"\btorch(?:vision|audio|text|data)?(?:\.\w+)+")
_CONVERSIONS = frozenset({"torch.view_as_real", "torch.view_as_complex"})
_RENAMED = api_changes.index_by_symbol(
    api_changes.ApiChangeKind.REMOVED,
    api_changes.ApiChangeKind.DEPRECATED,
    api_changes.ApiChangeKind.DOCUMENTED,
)


def create_recipe_fix(use: Use, ctx: Context, change: ApiChange) -> Fix:
    """Create the fix of the first recipe that fits the use. Raises NoFix."""
    for recipe in change.recipes:
        _check_old_name(recipe, ctx)
        edits = _move_import(change, use, ctx) or _apply_recipe(recipe, use, ctx)
        if edits is not None:
            return create_fix(edits, _render_title(recipe, use), recipe)
    if use.kind is not Kind.CALL:
        raise NoFix("the name is used as a value here, not called, and its replacement takes other arguments")
    raise NoFix("there is no automatic replacement for these arguments")


def _check_old_name(recipe: ChangeRecipe, ctx: Context) -> None:
    """Raise NoFix if code that may run together with this file works only with the old name."""
    for expression in recipe.unless:
        word = re.match(r"\w+", expression)
        # A definition of the project's own is none of torch's.
        sought = ((word[0],) if word else (), (rf"(?<!\w)(?<!def ){expression}",))
        found = ctx.project.find_spellings(sought, beside="")
        connected = found and find_connected_files(ctx.project, os.path.abspath(ctx.source.path))
        for path, line in found:
            if connected is None or path in connected:
                raise NoFix(
                    f"{ctx.project.get_display_path(path)}:{line} works only with the old name; change both by hand"
                )


def create_fix(edits: Iterable[Edit], title: str, recipe: ChangeRecipe) -> Fix:
    """Create the fix of a recipe; if it is unsafe, the title says why."""
    if recipe.unsafe:
        return Fix(tuple(edits), Safety.UNSAFE, f"{title}; unsafe because {recipe.unsafe}")
    return Fix(tuple(edits), Safety.SAFE, title)


def new_name(recipe: ChangeRecipe, use: Use) -> str:
    """Return the qualified name that replaces the old one."""
    return recipe.to.replace("{leaf}", use.name.rpartition(".")[2])


def list_call_edits(recipe: ChangeRecipe, call: ast.Call, use: Use, ctx: Context) -> list[Edit]:
    """List the edits that a recipe makes to a call: to its arguments, and the expression around it. Raises NoFix."""
    edits = list_argument_edits(recipe, call)
    if recipe.around:
        _check_readers(recipe, call, use, ctx)
        edits.append(_replace_by_code(call, recipe.around, {"call": call}, use, ctx))
    return edits


def render_wrapper(recipe: ChangeRecipe) -> str:
    """Return the part of a title that names the call a recipe puts around the old one."""
    return f", wrapped in `{recipe.around.partition('(')[0]}`" if recipe.around else ""


def _check_readers(recipe: ChangeRecipe, call: ast.Call, use: Use, ctx: Context) -> None:
    """Raise NoFix if the result is used by something that the call around it would break."""
    try:
        places = list(ctx.uses.data_flow.find_value_places(call, use.place.scope))
    except ValueEscapes:
        return
    for place in (call, *places):
        parent = ctx.uses.data_flow.parents[place]
        reader = parent.func if isinstance(parent, ast.Call) and place in parent.args else parent
        if (name := last_name(reader)) in recipe.bare_for:
            raise NoFix(
                f"line {place.lineno} passes the result to `{name}`, which would fail for a result{render_wrapper(recipe).removeprefix(',')}"
            )


def _apply_recipe(recipe: ChangeRecipe, use: Use, ctx: Context) -> list[Edit] | None:
    if recipe.remove or recipe.statement:
        return _replace_statement(recipe, use, ctx)
    if recipe.write:
        return write_replacement(recipe, use, ctx)
    return _rename_use(recipe, use, ctx)


def _replace_statement(recipe: ChangeRecipe, use: Use, ctx: Context) -> list[Edit] | None:
    """Return the edit of a statement that only calls the name; None for other statements and arguments."""
    statement = use.place.statement
    if use.call is None or not isinstance(statement, ast.Expr) or statement.value is not use.call:
        return None
    if recipe.remove:
        return [ctx.remove_statement(use.place)]
    if (bound := bind_arguments(recipe.takes or "", use.call)) is None:
        return None
    return [ReplaceStatement(statement, template(recipe.statement, **bound.arguments))]


def _move_import(change: ApiChange, use: Use, ctx: Context) -> list[Edit] | None:
    """Return the edit of an import of several names that all moved to the same module; None if they did not."""
    module = _find_moved_module(change, use.name)
    named = ctx.rebind_use(use, f"{module}.{use.name.rpartition('.')[2]}") if module else None
    if module is None or named is None or len(named.statement.names) == 1:
        return None
    for alias in named.statement.names:
        symbol = f"{named.statement.module}.{alias.name}"
        other = _RENAMED.get(symbol)
        if other is None or other.needs > change.needs or _find_moved_module(other, symbol) != module:
            return None
    return [MoveImport(named.statement, module)]


def _find_moved_module(change: ApiChange, symbol: str) -> str | None:
    """Return the module that has the symbol now, if it is the same object under the same name."""
    recipe = change.recipes[0] if change.recipes else ChangeRecipe()
    leaf = symbol.rpartition(".")[2]
    module, _, name = recipe.to.replace("{leaf}", leaf).rpartition(".")
    return module if name == leaf and recipe == ChangeRecipe(to=recipe.to, same=recipe.same) else None


def _rename_use(recipe: ChangeRecipe, use: Use, ctx: Context) -> list[Edit] | None:
    new = new_name(recipe, use)
    plain = not (recipe.first or recipe.name or recipe.add or recipe.rename)
    same = new.rpartition(".")[2] == use.name.rpartition(".")[2] or _is_renamed_import(use)
    if use.kind is Kind.CALL and use.call is not None:
        if recipe.takes is not None and bind_arguments(recipe.takes, use.call) is None:
            return None
        named = ctx.rebind_use(use, new) if plain and same else None
        read = _rename_attributes(recipe, use.call, use, ctx) if recipe.attributes else []
        return [named or ctx.rename_use(use, new), *list_argument_edits(recipe, use.call), *read]
    if use.kind is Kind.DECORATOR and recipe.bare and isinstance(use.node, ast.expr):
        return [replace(use.node, f"{{symbol}}({recipe.bare})", symbol=ctx.write_symbol(new, use))]
    if plain or (recipe.first and use.kind in (Kind.ANNOTATION, Kind.ISINSTANCE)):
        named = ctx.rebind_use(use, new) if plain and same else None
        if named is not None:
            return [named]
        is_set = use.kind is Kind.ASSIGNMENT and not recipe.same
        if is_set or use.kind is Kind.STRING or not isinstance(use.node, ast.expr):
            return None
        return [ctx.rename_use(use, new)]
    return None


def _is_renamed_import(use: Use) -> bool:
    """Return whether the name of the use is the one that an import gives to another: ``import _LRScheduler as LRScheduler``."""
    bindings = use.place.scope.find_bindings(use.node.id) if isinstance(use.node, ast.Name) else []
    return len(bindings) == 1 and getattr(bindings[0].node, "asname", None) is not None


def _rename_attributes(recipe: ChangeRecipe, call: ast.Call, use: Use, ctx: Context) -> list[Edit]:
    """List the edits of the attributes that are read from the result of a call. Raises NoFix."""
    flow, edits = ctx.uses.data_flow, list[Edit]()
    try:
        places = list(flow.find_value_places(call, use.place.scope))
    except ValueEscapes as escape:
        raise NoFix(f"the result {escape}") from None
    for place in places:
        read = flow.parents[place]
        if not isinstance(read, ast.Attribute):
            raise NoFix(
                f"line {place.lineno} uses the result as a whole, and the new one has other attributes"
            )
        if read.attr not in recipe.attributes:
            raise NoFix(f"the new result has no `{read.attr}`")
        edits.append(replace(read, f"{{owner}}.{recipe.attributes[read.attr]}", owner=read.value))
    return edits


def write_replacement(recipe: ChangeRecipe, use: Use, ctx: Context) -> list[Edit] | None:
    """Return the edit that replaces the call or the name by a new expression; None if the recipe does not cover the use."""
    if not isinstance(use.node, ast.expr) or use.kind in (Kind.STRING, Kind.ASSIGNMENT):
        return None
    if recipe.takes is None:
        owner: dict[str, Part] = {"self": use.node.value} if isinstance(use.node, ast.Attribute) else {}
        return [_replace_by_code(use.node, recipe.write, owner, use, ctx)]
    if use.kind is not Kind.CALL or use.call is None:
        return None
    bound = bind_arguments(recipe.takes, use.call)
    if bound is None:
        return None
    parameters = bound.signature.parameters
    mentioned = {name for name in parameters if f"{{{name}}}" in recipe.write} | recipe.given.keys()
    if not bound.arguments.keys() <= mentioned:
        return None
    bound.apply_defaults()
    if not all(is_written_as(bound.arguments[name], code) for name, code in recipe.given.items()):
        return None
    parts: dict[str, Part] = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in bound.arguments.items()
        if name in mentioned
    }
    if isinstance(use.node, ast.Attribute):
        parts["self"] = use.node.value
    for name in recipe.tensors:
        if not is_tensor(value := bound.arguments[name], use.place, ctx.uses):
            parts[name] = template(
                "{convert}({value})", convert=ctx.write_symbol("torch.as_tensor", use), value=value
            )
    for name in recipe.columns:
        value = parts[name]
        if not (isinstance(value, ast.expr) and is_matrix(value, use.place, ctx.uses)):
            parts[name] = template(
                "{stack}([{value}])", stack=ctx.write_symbol("torch.column_stack", use), value=value
            )
    if recipe.unpacked and is_unpacked(recipe, use.call, use, ctx):
        repeated = [name for name in parts if recipe.unpacked.count(f"{{{name}}}") > 1]
        if not all(_is_name(parts[name]) for name in repeated):
            raise NoFix("an argument would be computed twice; assign it to a variable first")
        return [_replace_by_code(use.call, recipe.unpacked, parts, use, ctx)]
    replaced, edits = find_replaced(recipe, use.call, use, ctx)
    return [_replace_by_code(replaced, recipe.write, parts, use, ctx), *edits]


def _is_name(part: Part) -> bool:
    """Return whether a part of a recipe is a variable or an attribute, which may be written twice."""
    return isinstance(part, ast.Name) or (isinstance(part, ast.Attribute) and _is_name(part.value))


def _replace_by_code(place: ast.expr, code: str, parts: Mapping[str, Part], use: Use, ctx: Context) -> Edit:
    """Create the edit that replaces an expression by ``code``, with torch's names as this file writes them."""
    symbols: dict[str, Part] = {}

    def insert_symbol(match: re.Match[str]) -> str:
        name = f"symbol{len(symbols)}"
        symbols[name] = ctx.write_symbol(match[0], use)
        return f"{{{name}}}"

    text = _NAME.sub(insert_symbol, code.replace("{leaf}", use.name.rpartition(".")[2]))
    used = {name: part for name, part in parts.items() if f"{{{name}}}" in text}
    return replace(place, text, **used, **symbols)


def _render_title(recipe: ChangeRecipe, use: Use) -> str:
    if recipe.remove:
        return "Remove the call"
    if recipe.statement:
        return f"Use `{recipe.statement.replace('{', '').replace('}', '')}`"
    if recipe.to:
        return f"Use `{new_name(recipe, use)}`"
    called = [name for name in re.findall(r"torch[\w.]*(?=\([^)])", recipe.write) if name not in _CONVERSIONS]
    method = re.match(r"\{self\}\.(\w+)", recipe.write)
    return f"Use `{called[0] if called else method[1] if method else recipe.write}`"
