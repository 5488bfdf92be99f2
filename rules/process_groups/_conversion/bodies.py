"""The functions of an operator after one of their parameters has become the group instead of its name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.model.findings import Change
from torchmigrate.rewrite.changes import Remove, Rename, Replace, Symbol, Template, replace, template
from torchmigrate.semantics.calls import argument
from torchmigrate.semantics.dataflow import is_located

from .._names.collectives import RESOLVE
from .._operators.functions import (
    FUNCTION,
    Function,
    inside,
    is_context,
    named,
    parameters,
    spells,
    with_default,
)
from .._operators.operators import Operator, is_name, operators_of
from .reading import Reading, sole_target

if TYPE_CHECKING:
    from torchmigrate.api import Context


class Bodies(Reading):
    """The changes in the functions of operators, and what has to be followed to other operators of the file.

    ``annotation`` is `ProcessGroup`, as the file names it.
    """

    def __init__(self, ctx: Context, annotation: Symbol) -> None:
        super().__init__(ctx)
        self._annotation = annotation
        self._operators = operators_of(ctx)
        self._calls = {call: o for o in self._operators.values() for call, _ in o.calls}
        self._waiting: list[tuple[Operator, int]] = []
        self._changes: dict[ast.AST, Change] = {}
        """The changes, by the node that each one changes."""
        self.converted: list[tuple[Operator, int]] = []
        """The parameters that become groups together, each with the index of the parameter."""

    def _follow(self, operator: Operator, index: int) -> None:
        if index >= len(operator.parameters):
            raise NoFix(f"the parameters of `{operator.name}` are unknown")
        if (operator, index) not in self.converted:
            self.converted.append((operator, index))
            self._waiting.append((operator, index))

    def _put(self, node: ast.expr, new: Template) -> None:
        """Replace an expression, unless it already is the new one."""
        same = new.parts.get("itself") is node or (isinstance(node, ast.Name) and node.id == new.code)
        kept = isinstance(node, ast.Attribute) and new.code == f"{{ctx}}.{node.attr}"
        if not same and not kept:
            self._changes[node] = Replace(node, new)

    def _in_function(self, function: Function, index: int, name: str, new: str) -> None:
        own = parameters(function)
        if function.args.vararg or function.args.kwarg or index >= len(own):
            raise NoFix(f"the function in line {function.lineno} does not list its parameters")
        parameter = own[index]
        # A default is a name as well, and no expression for its group is known.
        if parameter in with_default(function):
            raise NoFix(f"`{parameter.arg}` has a default in line {parameter.lineno}")
        if parameter.annotation is not None and not is_name(parameter):
            raise NoFix(f"`{parameter.arg}` is not annotated as a string in line {parameter.lineno}")
        called = new if parameter.arg == name else next(self.looked_up(function, index), parameter.arg)
        if called != parameter.arg:
            self._changes[parameter] = Rename(parameter, called)
        if (annotation := parameter.annotation) is not None:
            self._changes[annotation] = replace(annotation, "{group}", group=self._annotation)
        for operator in self._operators.values():
            if function in operator.functions:
                self._follow(operator, index)
        for read in self._reads(function, parameter.arg):
            self._convert(read, Template(called))

    def _reads(self, function: Function, name: str, stores: int = 0) -> Iterator[ast.Name]:
        """Find the reads of a variable in a function. Raises NoFix if it is bound more than ``stores`` times, or shadowed."""
        found = named(function, name)
        bound = [node for node in found if not isinstance(node.ctx, ast.Load)]
        hidden = [
            inner
            for node in inside(function)
            if isinstance(node, FUNCTION)
            for inner in parameters(node)
            if inner.arg == name
        ]
        if len(bound) != stores or hidden:
            raise NoFix(f"`{name}` has more than one meaning in the function in line {function.lineno}")
        yield from (node for node in found if isinstance(node.ctx, ast.Load))

    def _convert(self, read: ast.expr, group: Template) -> None:
        """Put the group where its name is read."""
        if not is_located(read, self._parents):
            raise NoFix(f"`{self._ctx.text(read)}` is written inside a string in line {read.lineno}")
        call = self.call_with(read)
        if call is not None and self.callee(call) in RESOLVE:
            self._resolved(call, group)
            return
        if call is not None and call in self._calls:
            self._follow(self._calls[call], self._index_in(call, read))
        elif not self.means_group(read):
            raise NoFix(f"`{self._ctx.text(read)}` is used as a name in line {read.lineno}")
        self._put(read, group)

    def _resolved(self, call: ast.Call, group: Template) -> None:
        """Remove a lookup, and the whole assignment of its result if the parameter now has the variable's name."""
        parent = self._parents[call]
        target = sole_target(parent)
        if isinstance(parent, ast.stmt) and isinstance(target, ast.Name) and target.id == group.code:
            self._changes[parent] = Remove(parent)
        else:
            self._put(call, group)

    def _index_in(self, call: ast.Call, given: ast.expr) -> int:
        """Return the index of the operator's parameter that receives an argument of a call."""
        names = self._calls[call].parameters
        for index, name in enumerate(names):
            if argument(call, index, name) is given:
                return index
        raise NoFix(f"the call in line {call.lineno} does not list its arguments")

    def _in_setup(self, operator: Operator, setup: Function, index: int, name: str, new: str) -> None:
        own = [parameter.arg for parameter in parameters(setup)]
        if len(own) != 3 or isinstance(setup, ast.Lambda):
            raise NoFix(f"the function in line {setup.lineno} is not of the form `(ctx, inputs, output)`")
        for read in self._reads(setup, own[1]):
            parent = self._parents[read]
            if isinstance(parent, ast.Assign) and parent.value is read and len(parent.targets) == 1:
                self._unpacked(operator, setup, parent.targets[0], index, name, new)
            elif isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Constant):
                if parent.slice.value == index:
                    self._keep(operator, setup, parent, template("{itself}", itself=parent), name, new)
            else:
                raise NoFix(f"`{own[1]}` cannot be followed in line {read.lineno}")

    def _unpacked(
        self, operator: Operator, setup: Function, target: ast.expr, index: int, name: str, new: str
    ) -> None:
        """Convert ``_, _, group_name = inputs``."""
        elements = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
        if index >= len(elements) or any(isinstance(element, ast.Starred) for element in elements):
            raise NoFix(f"`{self._ctx.text(target)}` cannot be followed in line {target.lineno}")
        variable = elements[index]
        if isinstance(variable, ast.Attribute) and is_context(variable.value, setup):
            self._kept(operator, variable, name, new)
        elif not isinstance(variable, ast.Name):
            raise NoFix(f"`{self._ctx.text(variable)}` cannot be followed in line {target.lineno}")
        elif variable.id != "_":
            group = Template(new if variable.id == name and not spells(setup, new) else variable.id)
            reads = list(self._reads(setup, variable.id, stores=1))
            self._put(variable, group)
            for read in reads:
                self._keep(operator, setup, read, group, name, new)

    def _keep(
        self, operator: Operator, setup: Function, read: ast.expr, group: Template, name: str, new: str
    ) -> None:
        """Convert the read in ``ctx.group_name = group_name``, or any other."""
        target = sole_target(self._parents[read])
        if isinstance(target, ast.Attribute) and is_context(target.value, setup):
            self._put(read, group)
            self._kept(operator, target, name, new)
        else:
            self._convert(read, group)

    def _kept(self, operator: Operator, target: ast.Attribute, name: str, new: str) -> None:
        """Rename the attribute of the context that stores the group, and convert its reads."""
        functions = [*operator.setups, *operator.backwards]
        attributes = [
            node
            for function in functions
            for node in inside(function)
            if isinstance(node, ast.Attribute) and is_context(node.value, function)
        ]
        taken = any(node.attr == new for node in attributes)
        kept = new if target.attr == name and not taken else target.attr
        for node in attributes:
            if node.attr == target.attr:
                written = template(f"{{ctx}}.{kept}", ctx=node.value)
                if isinstance(node.ctx, ast.Load):
                    self._convert(node, written)
                elif node is target:
                    self._put(node, written)
                else:
                    raise NoFix(f"`{self._ctx.text(node)}` is given another value in line {node.lineno}")
