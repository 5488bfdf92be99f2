"""The arguments of calls, as recipes match, bind and change them."""

from __future__ import annotations

import ast
import inspect
from functools import cache

from torchmigrate.model.findings import FixChange as Edit
from torchmigrate.rewrite.changes import AddArgument, DropArguments, NameArgument, Rename, replace, template
from torchmigrate.semantics.tensors import is_size
from torchmigrate.tables.change_recipes import ChangeRecipe


def list_argument_edits(recipe: ChangeRecipe, call: ast.Call) -> list[Edit]:
    """List the edits that a recipe makes to the arguments of a call."""
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


def matches_call(recipe: ChangeRecipe, call: ast.Call) -> bool:
    """Return whether a call has the keywords that the recipe is right for."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    return all(
        (name not in given) if not code else (name in given and is_written_as(given[name], code))
        for name, code in recipe.given.items()
    )


@cache
def _parse_signature(takes: str) -> inspect.Signature:
    """Return the signature of parameters as in a ``def``; its defaults are the nodes of the default values."""
    parameters = inspect.signature(eval(f"lambda {takes}: None")).parameters.values()
    return inspect.Signature(
        [
            one
            if one.default is one.empty
            else one.replace(default=ast.parse(repr(one.default)).body[0].value)  # type: ignore[attr-defined]
            for one in parameters
        ]
    )


def bind_arguments(takes: str, call: ast.Call) -> inspect.BoundArguments | None:
    """Bind the arguments of a call to the parameters of ``takes``; return None if they do not fit."""
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    is_starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    if None in keywords or (is_starred and not takes.startswith("*")):
        return None
    try:
        return _parse_signature(takes).bind(*call.args, **keywords)  # type: ignore[arg-type]
    except TypeError:
        return None


def is_written_as(node: ast.expr | tuple[ast.expr, ...], code: str) -> bool:
    """Return whether an argument is written as ``code``; ``int`` stands for any integer literal, ``text`` for a string literal
    that is not empty, ``any`` for anything, and ``no size`` for what is not evidently a size."""
    if code == "any":
        return True
    if code == "no size":
        return not isinstance(node, tuple) and not is_size(node)
    if isinstance(node, tuple):
        return False
    if code == "int":
        number = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
        return isinstance(number, ast.Constant) and type(number.value) is int
    if code == "text":
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        return any(
            isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value for part in parts
        )
    return ast.unparse(node) == code
