"""The conversion of everything that one parameter of a custom operator leads to, from group names to groups."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.model.findings import Change
from torchmigrate.rewrite.changes import Rename, Reword, Symbol
from torchmigrate.semantics.calls import argument
from torchmigrate.semantics.dataflow import is_located

from .._names.group_names import name_of_group
from .._names.handing_over import is_stable, without_variable
from .._operators.functions import is_context, parameters, spells
from .._operators.operators import Operator
from .bodies import Bodies
from .reading import kept_from

if TYPE_CHECKING:
    from torchmigrate.api import Context


class Conversion(Bodies):
    """The changes of one file that turn names into groups, followed to callers and to other operators of the file."""

    def __init__(self, ctx: Context, annotation: Symbol) -> None:
        super().__init__(ctx, annotation)
        self._variables: dict[ast.expr, list[ast.Name]] = {}
        """The names of groups that are kept in variables, each with the reads of its variable."""

    def run(self, operator: Operator, index: int) -> tuple[Change, ...]:
        """Return all changes that turn a parameter of an operator into a group. Raises NoFix."""
        self._follow(operator, index)
        while self._waiting:
            self._parameter(*self._waiting.pop())
        unread = [
            removed
            for value, reads in self._variables.items()
            for removed in without_variable(value, reads, self._ctx)
        ]
        return (*self._changes.values(), *unread)

    def _parameter(self, operator: Operator, index: int) -> None:
        name = operator.parameters[index]
        if operator.unfollowed:
            lines = ", ".join(str(node.lineno) for node in operator.unfollowed)  # type: ignore[attr-defined]
            raise NoFix(f"`{operator.name}` is also used in line {lines}, in a way that cannot be followed")
        new = self._new_name(operator, index, name)
        if operator.schema is not None:
            self._schema(operator.schema, name, new)
        for function in operator.functions:
            self._in_function(function, index, name, new)
        for setup in operator.setups:
            self._in_setup(operator, setup, index, name, new)
        for call, _ in operator.calls:
            self._in_call(call, index, name, new)

    def _schema(self, schema: ast.Constant, name: str, new: str) -> None:
        """Change ``str group_name`` to ``Any group``: no other type that a schema can spell accepts an object."""
        text, old = str(schema.value), f"str {name}"
        if text.count(old) != 1 or text[text.index(old) + len(old)].isidentifier():
            raise NoFix(f"the schema in line {schema.lineno} does not contain `{old}` exactly once")
        self._changes[schema] = Reword(schema, old, f"Any {new}")

    def _new_name(self, operator: Operator, index: int, name: str) -> str:
        """Return the new name of the parameter: that of the lookup's result, or the old one without ``_name``."""
        wanted = [target for f in operator.functions for target in self.looked_up(f, index)]
        for new in dict.fromkeys((*wanted[:1], name.removesuffix("_name"), "process_group", "pg")):
            if new == name or all(
                not spells(f, new) or list(self.looked_up(f, index)) == [new] for f in operator.functions
            ):
                return new
        return name

    def _in_call(self, call: ast.Call, index: int, name: str, new: str) -> None:
        given = argument(call, index, name)
        if given is None:
            raise NoFix(f"the call in line {call.lineno} does not list its arguments")
        for keyword in call.keywords:
            if keyword.arg == name != new:
                self._changes[keyword] = Rename(keyword, new)
        self._claim(given)

    def _claim(self, node: ast.expr) -> None:
        """Put the group where a caller passes a name."""
        if self._is_parameter(node) or self._is_kept(node):
            return
        if not is_located(node, self._parents):
            raise NoFix(f"the call in line {node.lineno} is written inside a string")
        scope = self._ctx.uses.scope_of(node)
        name = name_of_group(node, scope, self._ctx)
        if name is None and isinstance(node, ast.Name):
            value = self._ctx.uses.flow.definition(node, scope)
            owner = scope.find(node.id)
            found = (
                name_of_group(value, owner, self._ctx) if value is not None and owner is not None else None
            )
            if found is not None and is_stable(found, node, self._ctx):
                name = found
                self._variables.setdefault(found.node, []).append(node)
        if name is None:
            text = self._ctx.text(node)
            raise NoFix(f"line {node.lineno} passes `{text}`, and it is unclear which group has that name")
        if name.doubt is not None:
            raise NoFix(f"line {node.lineno}: {name.doubt}")
        self._put(node, name.written)

    def _is_parameter(self, node: ast.expr) -> bool:
        """Whether a value is a parameter of an operator, which then becomes a group as well."""
        function = self.function_around(node)
        while isinstance(node, ast.Name) and function is not None:
            names = [parameter.arg for parameter in parameters(function)]
            if node.id in names:
                owners = [o for o in self._operators.values() if function in o.functions]
                for operator in owners:
                    self._follow(operator, names.index(node.id))
                return bool(owners)
            function = self.function_around(function)
        return False

    def _is_kept(self, node: ast.expr) -> bool:
        """Whether a value is ``ctx.x`` in a backward function, where a parameter of the operator was stored."""
        function = self.function_around(node)
        if not isinstance(node, ast.Attribute) or function is None or not is_context(node.value, function):
            return False
        for operator in self._operators.values():
            for setup in operator.setups if function in (*operator.backwards, *operator.setups) else ():
                index = kept_from(setup, node.attr)
                if index is not None:
                    self._follow(operator, index)
                    return True
        return False
