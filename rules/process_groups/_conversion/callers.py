"""The callers of an operator, which have to have the group itself in sight."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.rewrite.changes import Rename, Symbol
from torchmigrate.semantics.calls import argument
from torchmigrate.semantics.dataflow import is_located

from .._names.group_names import name_of_group
from .._names.handing_over import is_stable
from .._operators.functions import is_context, parameters
from .reading import kept_from
from .setups import Setups

if TYPE_CHECKING:
    from torchmigrate.api import Context


class Callers(Setups):
    """Puts groups where callers hand over names."""

    def __init__(self, ctx: Context, annotation: Symbol) -> None:
        super().__init__(ctx, annotation)
        self._variables: dict[ast.expr, list[ast.Name]] = {}
        """The values of variables that callers hand over, and where they do."""

    def _in_call(self, call: ast.Call, index: int, name: str, new: str) -> None:
        given = argument(call, index, name)
        if given is None:
            raise NoFix(f"the call in line {call.lineno} does not list its arguments")
        for keyword in call.keywords:
            if keyword.arg == name != new:
                self._changes[keyword] = Rename(keyword, new)
        self._claim(given)

    def _claim(self, node: ast.expr) -> None:
        """Puts the group where a caller hands over a name."""
        if self._is_parameter(node) or self._is_kept(node):
            return
        if not is_located(node, self._parents):
            raise NoFix(f"the call in line {node.lineno} stands in a string")
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
            raise NoFix(
                f"line {node.lineno} hands over `{text}`, and the group that it names is not in sight"
            )
        if name.doubt is not None:
            raise NoFix(f"in line {node.lineno}, {name.doubt}")
        self._put(node, name.written)

    def _is_parameter(self, node: ast.expr) -> bool:
        """Whether a value is a parameter of an operator itself, which becomes a group then."""
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
        """Whether a value is ``ctx.x`` in the backward function of an operator, kept from one of its parameters."""
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
