"""The rewrites of uses of an old API, as the entries of `torchmigrate.tables.api_changes` have them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ChangeRecipe:
    """One rewrite of a use of the old API to the new one. The fields that are set are applied together."""

    to: str = ""
    """The new name; the arguments stay, except as the next six fields say."""
    first: str = ""
    """Code of an argument that is added before all others."""
    name: tuple[str, ...] = ()
    """The names of the parameters, to pass positional arguments by keyword; "" for one that stays positional."""
    add: Mapping[str, str] = field(default_factory=dict)
    """Keywords to add with their code, unless they are given."""
    set: Mapping[str, str] = field(default_factory=dict)
    """Keywords whose code is replaced, if they are given."""
    drop: tuple[str, ...] = ()
    """Keywords to drop."""
    rename: Mapping[str, str] = field(default_factory=dict)
    """Old names of keywords → new names."""
    takes: str | None = None
    """The parameters that the recipe supports, as in a ``def``; it does not apply to calls with other arguments."""
    given: Mapping[str, str] = field(default_factory=dict)
    """The arguments for which the recipe is right, with their code: ``some = "True"``; ``int`` is any integer, ``text``
    a string literal that is not empty, ``any`` anything, ``no size`` anything but a number, a length or a shape."""
    write: str = ""
    """The expression that replaces the call (or, for a name that is no function, the name), with parameters in braces
    for the arguments; ``{self}`` is the object of a method."""
    around: str = ""
    """An expression around the changed call, which is ``{call}`` in it."""
    bare_for: tuple[str, ...] = ()
    """Functions, methods and attributes that need the value of the call without ``around``: the recipe is wrong there."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """The attributes of the result, old → new; the recipe does not apply if another one is read, or the result goes elsewhere."""
    result: tuple[str, ...] = ()
    """The parts of the old result (``.solution``, ``[0]``) that the new expression gives; no other may be used."""
    unpacked: str = ""
    """The expression instead of ``write`` where the result is unpacked into names of which others are read as well."""
    tensors: tuple[str, ...] = ()
    """The parameters that ``write`` needs as tensors; other arguments are converted."""
    columns: tuple[str, ...] = ()
    """The parameters of which a vector is one column of a matrix, as the old function had it and the new one has not."""
    bare: str = ""
    """The code of a decorator's arguments, if the old decorator is written without any."""
    same: bool = False
    """Whether the new name is for the same object, so that it can replace the old one in comparisons and lists."""
    statement: str = ""
    """The statement that replaces one that only calls the name, with parameters in braces."""
    remove: bool = False
    """Whether a statement that only calls the name is deleted."""
    unsafe: str = ""
    """The condition under which the new code behaves differently; empty if it never does."""
    unless: tuple[str, ...] = ()
    """Regular expressions, each beginning with a word: if a file of the project matches one, the old name has to
    stay."""


def list_written_names(symbols: Iterable[str], recipes: Sequence[ChangeRecipe]) -> list[str]:
    """List the names of torch's API that the recipes of a change write, and keywords as ``torch.meshgrid(indexing)``."""
    found: dict[str, None] = {}
    for symbol in symbols if recipes else ():
        old = f"torch.Tensor{symbol}" if symbol.startswith(".") else symbol
        for recipe in recipes:
            codes = (
                recipe.to,
                recipe.write,
                recipe.around,
                recipe.first,
                *recipe.add.values(),
                *recipe.set.values(),
            )
            code = " ".join(codes).replace("{leaf}", old.rpartition(".")[2])
            names = re.findall(r"\btorch(?:\.\w+)+", code)
            methods = [f"torch.Tensor.{name}" for name in re.findall(r"[)}]\.(\w+)", code)]
            called = next(iter((*names, *methods)), old) if recipe.to or recipe.write else old
            keywords = [f"{called}({keyword})" for keyword in (*recipe.add, *recipe.rename.values())]
            found |= dict.fromkeys((*names, *methods, *keywords, *_list_written_keywords(recipe.write)))
    return list(found)


def _list_written_keywords(code: str) -> list[str]:
    """List the keywords that an expression passes to torch's functions and to methods: ``torch.linalg.eigh(UPLO)``."""
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    return [
        f"{_name_callee(call.func)}({keyword.arg})"
        for call in calls
        for keyword in call.keywords
        if keyword.arg is not None
    ]


def _name_callee(function: ast.expr) -> str:
    """Return the name of what a recipe calls; all but torch's own functions are methods of tensors."""
    written = ast.unparse(function)
    return written if written.startswith("torch.") else f"torch.Tensor.{written.rpartition('.')[2]}"
