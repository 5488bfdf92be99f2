"""How the functions of a file use the name of a group."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context

from .._names.group_takers import GROUP_SIZE, RESOLVE, TAKERS, find_group_argument
from .._operators.custom_operators import CustomOperator
from .._operators.function_parts import FUNCTION, Function, find_variables, list_parameters, walk_body


class GroupNameUses:
    """The uses of group names in the functions of one file."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._parents = ctx.uses.data_flow.parents

    def find_evidence(self, operator: CustomOperator, index: int) -> ast.Call | None:
        """Return the first call in an operator's functions that takes the parameter as the name of a group."""
        if not operator.takes_string(index):
            return None
        for function in operator.functions:
            own = list_parameters(function)
            for read in find_variables(function, own[index].arg) if index < len(own) else ():
                if isinstance(read.ctx, ast.Load) and self.is_group_argument(read):
                    return self.find_call(read)
        return None

    def is_group_argument(self, read: ast.expr) -> bool:
        """Return whether a value is passed to something that takes the name of a group."""
        call = self.find_call(read)
        callee = self.resolve_callee(call) if call is not None else ""
        if callee in RESOLVE or callee in GROUP_SIZE:
            return True
        return call is not None and callee in TAKERS and find_group_argument(call, callee) is read

    def find_call(self, read: ast.expr) -> ast.Call | None:
        """Return the call that a value is an argument of."""
        parent = self._parents[read]
        call = self._parents[parent] if isinstance(parent, ast.keyword) else parent
        return call if isinstance(call, ast.Call) and call.func is not read else None

    def resolve_callee(self, call: ast.Call) -> str:
        """Return the qualified name of the function that is certainly called; empty if it is uncertain."""
        resolved = self._ctx.uses.resolve_node(call.func)
        return resolved.names[0] if resolved is not None and resolved.certain else ""

    def find_function(self, node: ast.AST) -> Function | None:
        """Return the innermost function around a node."""
        parent = self._parents.get(node)
        while parent is not None and not isinstance(parent, FUNCTION):
            parent = self._parents.get(parent)
        return parent

    def find_lookups(self, function: Function, index: int) -> Iterator[str]:
        """Find the variables, bound once, to which a function assigns the group that its parameter names."""
        own = list_parameters(function)
        for read in find_variables(function, own[index].arg) if index < len(own) else ():
            call = self.find_call(read)
            target = find_sole_target(self._parents[call]) if call is not None else None
            if call is None or not isinstance(target, ast.Name) or self.resolve_callee(call) not in RESOLVE:
                continue
            if _is_bound_once(function, target.id):
                yield target.id


def find_sole_target(statement: ast.AST | None) -> ast.expr | None:
    """Return the target of an assignment that has only one."""
    if isinstance(statement, ast.AnnAssign):
        return statement.target
    return statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None


def find_stored_input(setup: Function, attribute: str) -> int | None:
    """Return the index of the input that a ``(ctx, inputs, output)`` function stores in an attribute."""
    position: dict[str, int] = {}
    for node in walk_body(setup):
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
    bound = [node for node in find_variables(function, name) if not isinstance(node.ctx, ast.Load)]
    outside = any(isinstance(n, (ast.Global, ast.Nonlocal)) and name in n.names for n in walk_body(function))
    inner = [
        p.arg for n in (function, *walk_body(function)) if isinstance(n, FUNCTION) for p in list_parameters(n)
    ]
    return len(bound) == 1 and not outside and name not in inner
