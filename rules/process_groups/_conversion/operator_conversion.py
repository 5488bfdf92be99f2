"""The conversion of everything that one parameter of a custom operator leads to, from group names to groups."""

from __future__ import annotations

import ast

from torchmigrate.api import Context, NoFix
from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite.changes import Rename, Reword, Symbol
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.dataflow import has_exact_position

from .._names.group_names import find_named_group
from .._names.name_arguments import is_stable, remove_variable
from .._operators.custom_operators import CustomOperator
from .._operators.function_parts import is_first_parameter, is_name_taken, list_parameters
from .name_uses import find_stored_input
from .operator_functions import FunctionConverter


class OperatorConverter(FunctionConverter):
    """The changes of one file that turn names into groups, followed to callers and to other operators of the file."""

    def __init__(self, ctx: Context, annotation: Symbol) -> None:
        super().__init__(ctx, annotation)
        self._variables: dict[ast.expr, list[ast.Name]] = {}
        """The names of groups that are kept in variables, each with the reads of its variable."""

    def collect_changes(self, operator: CustomOperator, index: int) -> tuple[FixChange, ...]:
        """Return all changes that turn a parameter of an operator into a group. Raises NoFix."""
        self._enqueue_parameter(operator, index)
        while self._waiting:
            self._convert_parameter(*self._waiting.pop())
        unread = [
            removed
            for value, reads in self._variables.items()
            for removed in remove_variable(value, reads, self._ctx)
        ]
        return (*self._changes.values(), *unread)

    def _convert_parameter(self, operator: CustomOperator, index: int) -> None:
        name = operator.parameters[index]
        if operator.unfollowed:
            numbers = [str(node.lineno) for node in operator.unfollowed]  # type: ignore[attr-defined]
            lines = f"line{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"
            raise NoFix(f"`{operator.name}` is also used on {lines} in a way that cannot be analyzed")
        new = self._choose_name(operator, index, name)
        if operator.schema is not None:
            self._convert_schema(operator.schema, name, new)
        for function in operator.functions:
            self._convert_function(function, index, name, new)
        for setup in operator.setups:
            self._convert_setup(operator, setup, index, name, new)
        for call, _ in operator.calls:
            self._convert_call(call, index, name, new)

    def _convert_schema(self, schema: ast.Constant, name: str, new: str) -> None:
        """Change ``str group_name`` to ``Any group``: no other type that a schema can spell accepts an object."""
        text, old = str(schema.value), f"str {name}"
        if text.count(old) != 1 or text[text.index(old) + len(old)].isidentifier():
            raise NoFix(f"the schema on line {schema.lineno} does not contain `{old}` exactly once")
        self._changes[schema] = Reword(schema, old, f"Any {new}")

    def _choose_name(self, operator: CustomOperator, index: int, name: str) -> str:
        """Return the new name of the parameter: that of the lookup's result, or the old one without ``_name``."""
        wanted = [target for f in operator.functions for target in self.find_lookups(f, index)]
        for new in dict.fromkeys((*wanted[:1], name.removesuffix("_name"), "process_group", "pg")):
            if new == name or all(
                not is_name_taken(f, new) or list(self.find_lookups(f, index)) == [new]
                for f in operator.functions
            ):
                return new
        return name

    def _convert_call(self, call: ast.Call, index: int, name: str, new: str) -> None:
        given = find_argument(call, index, name)
        if given is None:
            raise NoFix(f"the arguments of the call on line {call.lineno} are not written out")
        for keyword in call.keywords:
            if keyword.arg == name != new:
                self._changes[keyword] = Rename(keyword, new)
        self._convert_argument(given)

    def _convert_argument(self, node: ast.expr) -> None:
        """Replace the group's name in the argument of a caller by the group."""
        if self._follow_parameter(node) or self._follow_attribute(node):
            return
        if not has_exact_position(node, self._parents):
            raise NoFix(f"the call on line {node.lineno} is inside a string")
        scope = self._ctx.uses.scope_of(node)
        name = find_named_group(node, scope, self._ctx)
        if name is None and isinstance(node, ast.Name):
            value = self._ctx.uses.data_flow.find_definition(node, scope)
            owner = scope.find_scope(node.id)
            found = (
                find_named_group(value, owner, self._ctx) if value is not None and owner is not None else None
            )
            if found is not None and is_stable(found, node, self._ctx):
                name = found
                self._variables.setdefault(found.node, []).append(node)
        if name is None:
            text = self._ctx.get_text(node)
            raise NoFix(f"line {node.lineno} passes `{text}`, and it is unclear which group has that name")
        if name.doubt is not None:
            raise NoFix(f"line {node.lineno}: {name.doubt}")
        self._replace_expression(node, name.replacement)

    def _follow_parameter(self, node: ast.expr) -> bool:
        """Return whether a value is a parameter of an operator, which then becomes a group as well."""
        function = self.find_function(node)
        while isinstance(node, ast.Name) and function is not None:
            names = [parameter.arg for parameter in list_parameters(function)]
            if node.id in names:
                owners = [o for o in self._operators.values() if function in o.functions]
                for operator in owners:
                    self._enqueue_parameter(operator, names.index(node.id))
                return bool(owners)
            function = self.find_function(function)
        return False

    def _follow_attribute(self, node: ast.expr) -> bool:
        """Return whether a value is ``ctx.x`` in a backward function, where a parameter of the operator was stored."""
        function = self.find_function(node)
        if (
            not isinstance(node, ast.Attribute)
            or function is None
            or not is_first_parameter(node.value, function)
        ):
            return False
        for operator in self._operators.values():
            for setup in operator.setups if function in (*operator.backwards, *operator.setups) else ():
                index = find_stored_input(setup, node.attr)
                if index is not None:
                    self._enqueue_parameter(operator, index)
                    return True
        return False
