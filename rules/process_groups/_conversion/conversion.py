"""Turns the name of a group into the group, everywhere that one parameter of a custom operator leads."""

from __future__ import annotations

import ast

from torchmigrate.api import NoFix
from torchmigrate.model.findings import Change
from torchmigrate.rewrite.changes import Reword

from .._names.handing_over import without_variable
from .._operators.functions import spells
from .._operators.operators import Operator
from .callers import Callers


class Conversion(Callers):
    """The changes of one file that turn names into groups, and follow both to other operators of the file."""

    def run(self, operator: Operator, index: int) -> tuple[Change, ...]:
        """Everything that changes when a parameter of an operator becomes a group. Raises NoFix."""
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
        """``str group_name`` → ``Any group``: of the types that a schema can spell, `Any` takes an object."""
        text, old = str(schema.value), f"str {name}"
        if text.count(old) != 1 or text[text.index(old) + len(old)].isidentifier():
            raise NoFix(f"the schema in line {schema.lineno} does not say `{old}` once")
        self._changes[schema] = Reword(schema, old, f"Any {new}")

    def _new_name(self, operator: Operator, index: int, name: str) -> str:
        """What the parameter is called: as the result of the look-up is, else its name without ``_name``."""
        wanted = [target for f in operator.functions for target in self.looked_up(f, index)]
        for new in dict.fromkeys((*wanted[:1], name.removesuffix("_name"), "process_group", "pg")):
            if new == name or all(
                not spells(f, new) or list(self.looked_up(f, index)) == [new] for f in operator.functions
            ):
                return new
        return name
