"""The functions of an operator after one of their parameters has become the group instead of its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, NoFix
from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite.changes import Remove, Rename, Replace, Symbol, Template, replace, template
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.dataflow import has_exact_position

from .._names.group_takers import RESOLVE
from .._operators.custom_operators import CustomOperator, collect_operators, is_string_parameter
from .._operators.function_parts import (
    FUNCTION,
    Function,
    find_variables,
    is_first_parameter,
    is_name_taken,
    list_optional,
    list_parameters,
    walk_body,
)
from .name_uses import GroupNameUses, find_sole_target


class FunctionConverter(GroupNameUses):
    """The changes in the functions of operators, and what has to be followed to other operators of the file.

    ``annotation`` is `ProcessGroup`, as the file names it.
    """

    def __init__(self, ctx: Context, annotation: Symbol) -> None:
        super().__init__(ctx)
        self._annotation = annotation
        self._operators = collect_operators(ctx)
        self._calls = {call: o for o in self._operators.values() for call, _ in o.calls}
        self._waiting: list[tuple[CustomOperator, int]] = []
        self._changes: dict[ast.AST, FixChange] = {}
        """The changes, by the node that each one changes."""
        self.converted: list[tuple[CustomOperator, int]] = []
        """The parameters that become groups together, each with the index of the parameter."""

    def _enqueue_parameter(self, operator: CustomOperator, index: int) -> None:
        if index >= len(operator.parameters):
            raise NoFix(f"the parameters of `{operator.name}` are unknown")
        if (operator, index) not in self.converted:
            self.converted.append((operator, index))
            self._waiting.append((operator, index))

    def _replace_expression(self, node: ast.expr, new: Template) -> None:
        """Replace an expression, unless it already is the new one."""
        same = new.parts.get("itself") is node or (isinstance(node, ast.Name) and node.id == new.code)
        kept = isinstance(node, ast.Attribute) and new.code == f"{{ctx}}.{node.attr}"
        if not same and not kept:
            self._changes[node] = Replace(node, new)

    def _convert_function(self, function: Function, index: int, name: str, new: str) -> None:
        own = list_parameters(function)
        if function.args.vararg or function.args.kwarg or index >= len(own):
            raise NoFix(f"the parameters of the function on line {function.lineno} are not written out")
        parameter = own[index]
        # A default is a name as well, and no expression for its group is known.
        if parameter in list_optional(function):
            raise NoFix(f"`{parameter.arg}` has a default on line {parameter.lineno}")
        if parameter.annotation is not None and not is_string_parameter(parameter):
            raise NoFix(f"`{parameter.arg}` is not annotated as a string on line {parameter.lineno}")
        called = new if parameter.arg == name else next(self.find_lookups(function, index), parameter.arg)
        if called != parameter.arg:
            self._changes[parameter] = Rename(parameter, called)
        if (annotation := parameter.annotation) is not None:
            self._changes[annotation] = replace(annotation, "{group}", group=self._annotation)
        for operator in self._operators.values():
            if function in operator.functions:
                self._enqueue_parameter(operator, index)
        for read in self._find_reads(function, parameter.arg):
            self._convert_read(read, Template(called))

    def _find_reads(self, function: Function, name: str, stores: int = 0) -> Iterator[ast.Name]:
        """Find the reads of a variable in a function. Raises NoFix if it is bound more than ``stores`` times, or shadowed."""
        found = find_variables(function, name)
        bound = [node for node in found if not isinstance(node.ctx, ast.Load)]
        hidden = [
            inner
            for node in walk_body(function)
            if isinstance(node, FUNCTION)
            for inner in list_parameters(node)
            if inner.arg == name
        ]
        if len(bound) != stores or hidden:
            raise NoFix(f"`{name}` has more than one meaning in the function on line {function.lineno}")
        yield from (node for node in found if isinstance(node.ctx, ast.Load))

    def _convert_read(self, read: ast.expr, group: Template) -> None:
        """Replace a read of the group's name by the group."""
        if not has_exact_position(read, self._parents):
            raise NoFix(f"`{self._ctx.get_text(read)}` is inside a string on line {read.lineno}")
        call = self.find_call(read)
        if call is not None and self.resolve_callee(call) in RESOLVE:
            self._remove_lookup(call, group)
            return
        if call is not None and call in self._calls:
            self._enqueue_parameter(self._calls[call], self._find_argument_index(call, read))
        elif not self.is_group_argument(read):
            raise NoFix(f"`{self._ctx.get_text(read)}` is used as a string on line {read.lineno}")
        self._replace_expression(read, group)

    def _remove_lookup(self, call: ast.Call, group: Template) -> None:
        """Remove a lookup, and the whole assignment of its result if the parameter now has the variable's name."""
        parent = self._parents[call]
        target = find_sole_target(parent)
        if isinstance(parent, ast.stmt) and isinstance(target, ast.Name) and target.id == group.code:
            self._changes[parent] = Remove(parent)
        else:
            self._replace_expression(call, group)

    def _find_argument_index(self, call: ast.Call, given: ast.expr) -> int:
        """Return the index of the operator's parameter that receives an argument of a call."""
        names = self._calls[call].parameters
        for index, name in enumerate(names):
            if find_argument(call, index, name) is given:
                return index
        raise NoFix(f"the arguments of the call on line {call.lineno} are not written out")

    def _convert_setup(
        self, operator: CustomOperator, setup: Function, index: int, name: str, new: str
    ) -> None:
        own = [parameter.arg for parameter in list_parameters(setup)]
        if len(own) != 3 or isinstance(setup, ast.Lambda):
            raise NoFix(f"the function on line {setup.lineno} does not have the form `(ctx, inputs, output)`")
        for read in self._find_reads(setup, own[1]):
            parent = self._parents[read]
            if isinstance(parent, ast.Assign) and parent.value is read and len(parent.targets) == 1:
                self._convert_unpacking(operator, setup, parent.targets[0], index, name, new)
            elif isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Constant):
                if parent.slice.value == index:
                    self._convert_stored_read(
                        operator, setup, parent, template("{itself}", itself=parent), name, new
                    )
            else:
                raise NoFix(f"the use of `{own[1]}` cannot be analyzed on line {read.lineno}")

    def _convert_unpacking(
        self, operator: CustomOperator, setup: Function, target: ast.expr, index: int, name: str, new: str
    ) -> None:
        """Convert ``_, _, group_name = inputs``."""
        elements = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
        if index >= len(elements) or any(isinstance(element, ast.Starred) for element in elements):
            raise NoFix(
                f"the assignment to `{self._ctx.get_text(target)}` cannot be analyzed on line {target.lineno}"
            )
        variable = elements[index]
        if isinstance(variable, ast.Attribute) and is_first_parameter(variable.value, setup):
            self._rename_attribute(operator, variable, name, new)
        elif not isinstance(variable, ast.Name):
            raise NoFix(
                f"the assignment to `{self._ctx.get_text(variable)}` cannot be analyzed on line {target.lineno}"
            )
        elif variable.id != "_":
            group = Template(new if variable.id == name and not is_name_taken(setup, new) else variable.id)
            reads = list(self._find_reads(setup, variable.id, stores=1))
            self._replace_expression(variable, group)
            for read in reads:
                self._convert_stored_read(operator, setup, read, group, name, new)

    def _convert_stored_read(
        self, operator: CustomOperator, setup: Function, read: ast.expr, group: Template, name: str, new: str
    ) -> None:
        """Convert the read in ``ctx.group_name = group_name``, or any other."""
        target = find_sole_target(self._parents[read])
        if isinstance(target, ast.Attribute) and is_first_parameter(target.value, setup):
            self._replace_expression(read, group)
            self._rename_attribute(operator, target, name, new)
        else:
            self._convert_read(read, group)

    def _rename_attribute(self, operator: CustomOperator, target: ast.Attribute, name: str, new: str) -> None:
        """Rename the attribute of the context that stores the group, and convert its reads."""
        functions = [*operator.setups, *operator.backwards]
        attributes = [
            node
            for function in functions
            for node in walk_body(function)
            if isinstance(node, ast.Attribute) and is_first_parameter(node.value, function)
        ]
        taken = any(node.attr == new for node in attributes)
        kept = new if target.attr == name and not taken else target.attr
        for node in attributes:
            if node.attr == target.attr:
                written = template(f"{{ctx}}.{kept}", ctx=node.value)
                if isinstance(node.ctx, ast.Load):
                    self._convert_read(node, written)
                elif node is target:
                    self._replace_expression(node, written)
                else:
                    raise NoFix(
                        f"`{self._ctx.get_text(node)}` is assigned another value on line {node.lineno}"
                    )
