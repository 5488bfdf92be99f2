"""How the functions of a file use the name of a group."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from .._names.collectives import GROUP_SIZE, RESOLVE, TAKERS, group_argument
from .._operators.functions import FUNCTION, Function, inside, named, parameters
from .._operators.operators import Operator

if TYPE_CHECKING:
    from torchmigrate.api import Context


class Reading:
    """The uses of group names in the functions of one file."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._parents = ctx.uses.flow.parents

    def evidence(self, operator: Operator, index: int) -> ast.Call | None:
        """Return the first call in an operator's functions that takes the parameter as the name of a group."""
        if not operator.takes_string(index):
            return None
        for function in operator.functions:
            own = parameters(function)
            for read in named(function, own[index].arg) if index < len(own) else ():
                if isinstance(read.ctx, ast.Load) and self.means_group(read):
                    return self.call_with(read)
        return None

    def means_group(self, read: ast.expr) -> bool:
        """Whether a value is passed to something that takes the name of a group."""
        call = self.call_with(read)
        callee = self.callee(call) if call is not None else ""
        if callee in RESOLVE or callee in GROUP_SIZE:
            return True
        return call is not None and callee in TAKERS and group_argument(call, callee) is read

    def call_with(self, read: ast.expr) -> ast.Call | None:
        """Return the call that a value is an argument of."""
        parent = self._parents[read]
        call = self._parents[parent] if isinstance(parent, ast.keyword) else parent
        return call if isinstance(call, ast.Call) and call.func is not read else None

    def callee(self, call: ast.Call) -> str:
        """Return the qualified name of the function that is certainly called; empty if it is uncertain."""
        resolved = self._ctx.uses.names.resolve(call.func, self._ctx.uses.scope_of(call))
        return resolved.names[0] if resolved is not None and resolved.certain else ""

    def function_around(self, node: ast.AST) -> Function | None:
        """Return the innermost function around a node."""
        parent = self._parents.get(node)
        while parent is not None and not isinstance(parent, FUNCTION):
            parent = self._parents.get(parent)
        return parent

    def looked_up(self, function: Function, index: int) -> Iterator[str]:
        """Find the variables, bound once, to which a function assigns the group that its parameter names."""
        own = parameters(function)
        for read in named(function, own[index].arg) if index < len(own) else ():
            call = self.call_with(read)
            target = sole_target(self._parents[call]) if call is not None else None
            if call is None or not isinstance(target, ast.Name) or self.callee(call) not in RESOLVE:
                continue
            if _is_bound_once(function, target.id):
                yield target.id


def sole_target(statement: ast.AST | None) -> ast.expr | None:
    """Return the target of an assignment that has only one."""
    if isinstance(statement, ast.AnnAssign):
        return statement.target
    return statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None


def kept_from(setup: Function, attribute: str) -> int | None:
    """Return the index of the input that a ``(ctx, inputs, output)`` function stores in an attribute."""
    position: dict[str, int] = {}
    for node in inside(setup):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        if isinstance(target, (ast.Tuple, ast.List)):
            for index, element in enumerate(target.elts):
                if isinstance(element, ast.Name):
                    position[element.id] = index
                elif isinstance(element, ast.Attribute) and element.attr == attribute:
                    return index
        elif isinstance(target, ast.Attribute) and target.attr == attribute:
            if isinstance(value, ast.Name):
                return position.get(value.id)
            if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
                return value.slice.value if isinstance(value.slice.value, int) else None
    return None


def _is_bound_once(function: Function, name: str) -> bool:
    bound = [node for node in named(function, name) if not isinstance(node.ctx, ast.Load)]
    outside = any(isinstance(n, (ast.Global, ast.Nonlocal)) and name in n.names for n in inside(function))
    inner = [p.arg for n in (function, *inside(function)) if isinstance(n, FUNCTION) for p in parameters(n)]
    return len(bound) == 1 and not outside and name not in inner
