"""The definition of a class that derives from `torch.autograd.Function`."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.project.indexed_file import index_file
from torchmigrate.project.project_definitions import find_definition
from torchmigrate.rewrite.changes import AddDecorator, template
from torchmigrate.semantics.name_resolution import last_name

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use


@dataclass(frozen=True)
class FunctionClass:
    """A class that derives from `torch.autograd.Function`, and its bases in the project."""

    definition: ast.ClassDef
    bases: tuple[ast.ClassDef, ...]
    path: str
    """The absolute path of the file that defines the class."""
    is_own: bool
    """Whether this is the file that uses it."""

    @cached_property
    def methods(self) -> dict[str, ast.FunctionDef]:
        """The methods that the class itself defines."""
        return {one.name: one for one in self.definition.body if isinstance(one, ast.FunctionDef)}

    @property
    def is_callable(self) -> bool:
        """Whether the project defines what calling an object does."""
        return self._defines("__call__")

    @property
    def has_state(self) -> bool:
        """Whether objects are made with a state."""
        return self._defines("__init__")

    def _defines(self, name: str) -> bool:
        return any(
            getattr(one, "name", "") == name for owner in (self.definition, *self.bases) for one in owner.body
        )

    def make_static(self) -> Iterator[AddDecorator]:
        """Yield the changes that make the methods static which torch calls."""
        for method in ("forward", "backward"):
            found = self.methods.get(method)
            if found is not None and not found.decorator_list:
                yield AddDecorator(found, template("staticmethod"))

    def is_used_here_only(self, ctx: Context) -> bool:
        """Return whether no other file uses the class that this one defines, and nothing calls its methods."""
        try:
            others = list_users(self, ctx).keys() - {self.path}
        except NoFix:
            return False
        return self.is_own and not others and not _calls_methods(ctx)


def is_docstring(statement: ast.stmt) -> bool:
    """Return whether a statement is a literal by itself."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def get_first_statement(function: ast.FunctionDef) -> ast.stmt:
    """Return the statement of a function before which others can be inserted: that behind its docstring."""
    return next((one for one in function.body if not is_docstring(one)), function.body[0])


def list_users(owner: FunctionClass, ctx: Context) -> dict[str, list[ast.expr]]:
    """Return the names and attributes by which files use a class, by the absolute path of the file.

    Raises NoFix where something may be the class, and its definition is not found.
    """
    name = owner.definition.name
    sought = ((name,), (rf"\b{re.escape(name)}\b",))
    users: dict[str, list[ast.expr]] = {}
    for path, _ in ctx.project.find_spellings(sought, beside=""):
        file = index_file(ctx.project, path)
        place = ctx.project.get_display_path(path)
        if file is None:
            raise NoFix(f"{place} names the class, and cannot be parsed")
        for node in file.find_named(name):
            if isinstance(node, ast.alias):
                if node.asname not in (None, name):
                    raise NoFix(f"{place}:{node.lineno} imports the class under another name")
                continue
            found = find_definition(node, file, ctx.project)
            if found is None:
                raise NoFix(f"{place}:{node.lineno} may use the class")
            if (found[0].lineno, found[1].path) == (owner.definition.lineno, owner.path):
                users.setdefault(path, []).append(node)
    return users


def _calls_methods(ctx: Context) -> bool:
    """Return whether the file calls a method of torch's functions itself: ``Reverse(0.1).forward(x)``."""
    return any(
        isinstance(node, ast.Call)
        and last_name(node.func) in ("forward", "backward")
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Call)
        for node in ctx.uses.data_flow.parents
    )


def find_function_class(use: Use, ctx: Context) -> FunctionClass | None:
    """Return the class of the project that is called at ``use``; None where its definition is not known."""
    assert isinstance(use.node, ast.expr)
    bound = use.place.scope.find_bindings(use.node.id) if isinstance(use.node, ast.Name) else []
    own = [one.node for one in bound if isinstance(one.node, ast.ClassDef)]
    file = index_file(ctx.project, os.path.abspath(ctx.source.path))
    found = find_definition(use.node, file, ctx.project) if file is not None else None
    if found is None or not isinstance(found[0], ast.ClassDef) or len(own) > 1:
        return None
    bases, waiting = list[ast.ClassDef](), [found]
    for one, where in waiting:  # which grows
        for base in getattr(one, "bases", ()):
            inherited = find_definition(base, where, ctx.project)
            if inherited is not None and isinstance(inherited[0], ast.ClassDef) and inherited not in waiting:
                bases.append(inherited[0])
                waiting.append(inherited)
    return FunctionClass(own[0] if own else found[0], (*bases,), found[1].path, is_own=bool(own))
