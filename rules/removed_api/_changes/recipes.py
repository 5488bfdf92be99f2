"""Carries out the recipes of the table: see `torchmigrate.tables.changes.Recipe`."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from torchmigrate.api import Fix, Kind, NoFix, Safety
from torchmigrate.model.findings import Change as Edit
from torchmigrate.rewrite.changes import (
    AddArgument,
    DropArguments,
    MoveImport,
    NameArgument,
    Part,
    Rename,
    replace,
    template,
)
from torchmigrate.semantics.dataflow import Escape
from torchmigrate.semantics.resolve import leaf
from torchmigrate.tables import changes
from torchmigrate.tables.changes import Recipe

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.tables.changes import Change

_NAME = re.compile(r"\btorch(?:\.\w+)+")


def fitting(use: Use, ctx: Context, change: Change) -> Fix:
    """The fix of the first recipe that fits the use. Raises NoFix."""
    for recipe in change.recipes:
        _check_unless(recipe, ctx)
        edits = _moved(change, use, ctx) or _carried_out(recipe, use, ctx)
        if edits is not None:
            safety = Safety.UNSAFE if recipe.unsafe else Safety.SAFE
            reason = f"; unsafe because {recipe.unsafe}" if recipe.unsafe else ""
            return Fix(tuple(edits), safety, f"{_title(recipe, use)}{reason}")
    if use.kind is not Kind.CALL:
        raise NoFix("it is not called here, and what takes its place is called in another way")
    raise NoFix("no recipe covers these arguments")


def _check_unless(recipe: Recipe, ctx: Context) -> None:
    """Raises NoFix where the project spells what goes with the old name only, but for its own definitions of it."""
    for expression in recipe.unless:
        word = re.match(r"\w+", expression)
        sought = ((word[0],) if word else (), (rf"(?<!\w)(?<!def ){expression}",))
        for path, line in ctx.project.spelling(sought, beside=""):
            raise NoFix(
                f"{ctx.project.shown(path)}:{line} goes with the old name only: both change together, by hand"
            )


def new_name(recipe: Recipe, use: Use) -> str:
    """The qualified name that takes the place of the old one."""
    return recipe.to.replace("{leaf}", use.name.rpartition(".")[2])


def argument_changes(recipe: Recipe, call: ast.Call) -> list[Edit]:
    """What a recipe does to the arguments of a call."""
    edits: list[Edit] = []
    if recipe.first:
        edits.append(AddArgument(call, template(recipe.first), first=True))
    for argument, name in zip(call.args, recipe.name, strict=False):
        if name:
            edits.append(NameArgument(argument, name))
    given = {keyword.arg: keyword for keyword in call.keywords}
    edits += [Rename(given[old], new) for old, new in recipe.rename.items() if old in given]
    edits += [replace(given[name].value, code) for name, code in recipe.set.items() if name in given]
    dropped = tuple(given[name] for name in recipe.drop if name in given)
    if dropped:
        edits.append(DropArguments(call, dropped))
    for name, code in recipe.add.items():
        if name not in given:
            edits.append(AddArgument(call, template(code), keyword=name))
    return edits


def call_changes(recipe: Recipe, call: ast.Call, use: Use, ctx: Context) -> list[Edit]:
    """What a recipe does to a call: to its arguments, and to what is made of its result. Raises NoFix."""
    edits = argument_changes(recipe, call)
    if recipe.around:
        _check_read(recipe, call, use, ctx)
        edits.append(_replacing(call, recipe.around, {"call": call}, use, ctx))
    return edits


def around(recipe: Recipe) -> str:
    """What a title says of the call that a recipe puts into another one."""
    return f", inside `{recipe.around.partition('(')[0]}`" if recipe.around else ""


def _check_read(recipe: Recipe, call: ast.Call, use: Use, ctx: Context) -> None:
    """Raises NoFix where something is done with the result that wants it without what the recipe puts around it."""
    try:
        places = list(ctx.uses.flow.places(call, use.place.scope))
    except Escape:
        return
    for place in (call, *places):
        parent = ctx.uses.flow.parents[place]
        reader = parent.func if isinstance(parent, ast.Call) and place in parent.args else parent
        if (name := leaf(reader)) in recipe.bare_for:
            raise NoFix(
                f"line {place.lineno} gives its result to `{name}`, which would fail for one{around(recipe)}"
            )


def matches(recipe: Recipe, call: ast.Call) -> bool:
    """Whether the arguments of a call are those that the recipe is right for, as far as it names keywords."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    return all(
        (name not in given) if not code else (name in given and _is(given[name], code))
        for name, code in recipe.given.items()
    )


def _carried_out(recipe: Recipe, use: Use, ctx: Context) -> list[Edit] | None:
    if recipe.remove:
        statement = use.place.statement
        return (
            [ctx.removed(use.place)]
            if isinstance(statement, ast.Expr) and statement.value is use.call
            else None
        )
    if recipe.write:
        return written(recipe, use, ctx)
    return _renamed(recipe, use, ctx)


def _moved(change: Change, use: Use, ctx: Context) -> list[Edit] | None:
    """Exchanges the module of an import of several names, where all of them have moved as this one has."""
    module = _module(change, use.name)
    named = ctx.rebound(use, f"{module}.{use.name.rpartition('.')[2]}") if module else None
    if module is None or named is None or len(named.statement.names) == 1:
        return None
    for alias in named.statement.names:
        symbol = f"{named.statement.module}.{alias.name}"
        other = _by_symbol().get(symbol)
        if other is None or other.needs > change.needs or _module(other, symbol) != module:
            return None
    return [MoveImport(named.statement, module)]


def _module(change: Change, symbol: str) -> str | None:
    """The module that has the symbol now, if it is the same thing under the same name."""
    recipe = change.recipes[0]
    leaf = symbol.rpartition(".")[2]
    module, _, name = recipe.to.replace("{leaf}", leaf).rpartition(".")
    return module if name == leaf and recipe == Recipe(to=recipe.to, same=recipe.same) else None


@cache
def _by_symbol() -> Mapping[str, Change]:
    """The changes with recipes of all names."""
    found = changes.by_symbol(changes.Kind.REMOVED, changes.Kind.DEPRECATED, changes.Kind.DOCUMENTED)
    return {symbol: change for symbol, change in found.items() if change.recipes}


def _renamed(recipe: Recipe, use: Use, ctx: Context) -> list[Edit] | None:
    new = new_name(recipe, use)
    plain = not (recipe.first or recipe.name or recipe.add or recipe.rename)
    same = new.rpartition(".")[2] == use.name.rpartition(".")[2]
    if use.kind is Kind.CALL and use.call is not None:
        if recipe.takes is not None and bound(recipe.takes, use.call) is None:
            return None
        named = ctx.rebound(use, new) if plain and same else None
        return [named or ctx.renamed(use, new), *argument_changes(recipe, use.call)]
    if use.kind is Kind.DECORATOR and recipe.bare and isinstance(use.node, ast.expr):
        return [replace(use.node, f"{{symbol}}({recipe.bare})", symbol=ctx.symbol(new, use))]
    if plain or (recipe.first and use.kind in (Kind.ANNOTATION, Kind.ISINSTANCE)):
        named = ctx.rebound(use, new) if plain and same else None
        if named is not None:
            return [named]
        is_set = use.kind is Kind.ASSIGNMENT and not recipe.same
        if is_set or use.kind is Kind.STRING or not isinstance(use.node, ast.expr):
            return None
        return [ctx.renamed(use, new)]
    return None


def written(recipe: Recipe, use: Use, ctx: Context) -> list[Edit] | None:
    """Writes the new expression in the place of the call or the name; None where the recipe does not cover it."""
    if not isinstance(use.node, ast.expr) or use.kind in (Kind.STRING, Kind.ASSIGNMENT):
        return None
    if recipe.takes is None:
        return [_replacing(use.node, recipe.write, {}, use, ctx)]
    if use.kind is not Kind.CALL or use.call is None:
        return None
    found = bound(recipe.takes, use.call)
    if found is None or not all(_is(found[name], code) for name, code in recipe.given.items()):
        return None
    defaults = _parameters(recipe.takes).defaults
    spoken = {name for name in found if f"{{{name}}}" in recipe.write} | recipe.given.keys()
    if any(name not in spoken and value not in defaults for name, value in found.items()):
        return None
    parts: dict[str, Part] = {name: found[name] for name in spoken}
    if isinstance(use.node, ast.Attribute):
        parts["self"] = use.node.value
    return [_replacing(_asked_for(recipe, use.call, ctx), recipe.write, parts, use, ctx)]


def _asked_for(recipe: Recipe, call: ast.Call, ctx: Context) -> ast.expr:
    """What the new expression stands for: the call, or the part of its result that is taken. Raises NoFix."""
    if not recipe.result:
        return call
    outer = ctx.uses.flow.parents.get(call)
    if not isinstance(outer, (ast.Attribute, ast.Subscript)):
        raise NoFix(
            "the old function gives more than the new one; take the part that is needed where it is called"
        )
    if ast.unparse(outer).removeprefix(ast.unparse(call)) not in recipe.result:
        raise NoFix("the new function does not give this part of the old one's result")
    return outer


def _replacing(place: ast.expr, code: str, parts: Mapping[str, Part], use: Use, ctx: Context) -> Edit:
    """``code`` in the place of an expression, with torch's names as they are written there."""
    symbols: dict[str, Part] = {}

    def named(match: re.Match[str]) -> str:
        name = f"symbol{len(symbols)}"
        symbols[name] = ctx.symbol(match[0], use)
        return f"{{{name}}}"

    text = _NAME.sub(named, code.replace("{leaf}", use.name.rpartition(".")[2]))
    used = {name: part for name, part in parts.items() if f"{{{name}}}" in text}
    return replace(place, text, **used, **symbols)


def _title(recipe: Recipe, use: Use) -> str:
    if recipe.remove:
        return "Remove the call"
    if recipe.to:
        return f"Use `{new_name(recipe, use)}`"
    called = re.match(r"torch[\w.]*(?=\([^)])", recipe.write)
    return f"Use `{called[0] if called else recipe.write}`"


@cache
def _parameters(takes: str) -> ast.arguments:
    definition = ast.parse(f"def f({takes}): pass").body[0]
    assert isinstance(definition, ast.FunctionDef)
    return definition.args


def bound(takes: str, call: ast.Call) -> dict[str, ast.expr | list[ast.expr]] | None:
    """The arguments of a call by the parameters of ``takes``, defaults included; None where they do not fit them."""
    parameters = _parameters(takes)
    if parameters.vararg is not None:
        return {parameters.vararg.arg: list(call.args)} if call.args and not call.keywords else None
    positional = [parameter.arg for parameter in parameters.args]
    named = [parameter.arg for parameter in parameters.kwonlyargs]
    if len(call.args) > len(positional) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    found: dict[str, ast.expr | list[ast.expr]] = dict(zip(positional, call.args, strict=False))
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg in found or keyword.arg not in (*positional, *named):
            return None
        found[keyword.arg] = keyword.value
    count = len(positional) - len(parameters.defaults)
    defaults: dict[str, ast.expr] = dict(zip(positional[count:], parameters.defaults, strict=True))
    defaults |= {
        name: value for name, value in zip(named, parameters.kw_defaults, strict=True) if value is not None
    }
    if not {*positional, *named} <= {*found, *defaults}:
        return None
    return {**defaults, **found}


def _is(node: ast.expr | list[ast.expr], code: str) -> bool:
    """Whether an argument is written so; ``int`` stands for any whole number."""
    if isinstance(node, list):
        return False
    if code == "int":
        number = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
        return isinstance(number, ast.Constant) and type(number.value) is int
    return ast.unparse(node) == code
