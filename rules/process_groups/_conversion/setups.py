"""The context that an operator's gradient finds the group in, where it was kept as a name."""

from __future__ import annotations

import ast

from torchmigrate.api import NoFix
from torchmigrate.rewrite.changes import Template, template

from .._operators.functions import Function, inside, is_context, parameters, spells
from .._operators.operators import Operator
from .bodies import Bodies
from .reading import sole_target


class Setups(Bodies):
    """Follows a parameter through ``(ctx, inputs, output)``, into the context and out again."""

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
        """``_, _, group_name = inputs``."""
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
        """``ctx.group_name = group_name``."""
        target = sole_target(self._parents[read])
        if isinstance(target, ast.Attribute) and is_context(target.value, setup):
            self._put(read, group)
            self._kept(operator, target, name, new)
        else:
            self._convert(read, group)

    def _kept(self, operator: Operator, target: ast.Attribute, name: str, new: str) -> None:
        """Renames an attribute of the context that the group is kept in, and follows what reads it."""
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
