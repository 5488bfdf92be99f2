"""The statements that issue the operations of a trap, and what they do with the requests."""

from __future__ import annotations

import ast
import enum
from collections.abc import Sequence
from dataclasses import dataclass

from torchmigrate.api import NoFix

from .._simulator.program import Program
from .function import Function


class Form(enum.Enum):
    """How a statement keeps the requests of its operations."""

    APPEND = enum.auto()
    """Adds them to a list."""
    LIST = enum.auto()
    """Makes a list of them."""
    NAME = enum.auto()
    """Assigns the only one to a variable."""
    NAME_AND_APPEND = enum.auto()
    """Assigns the only one to a variable, which the next statement appends to a list."""
    NONE = enum.auto()
    """Keeps nothing: a blocking call."""


@dataclass(frozen=True)
class Site:
    """The statement that issues one operation or several."""

    statement: ast.stmt
    calls: tuple[ast.Call, ...]
    form: Form
    holder: ast.expr | None = None
    """The list or the variable that receives the requests."""

    @property
    def target(self) -> str:
        """The holder as text; empty for none."""
        return ast.unparse(self.holder) if self.holder is not None else ""

    @property
    def value(self) -> ast.expr | None:
        """The assigned expression."""
        return self.statement.value if isinstance(self.statement, ast.Assign) else None


def kept_otherwise() -> NoFix:
    """Return the reason for no fix where requests are kept in ways that are not supported."""
    return NoFix("the requests are kept in ways that a single batch cannot replace")


def sites_of(nodes: Sequence[ast.Call], function: Function, program: Program) -> list[Site]:
    """Return the statements that issue the operations, in the order of the operations. Raises NoFix."""
    found: dict[ast.stmt, Site] = {}
    for node in nodes:
        statement = function.statement_of(node)
        if statement not in found:
            found[statement] = _parse_site(statement, node, function, program)
        if node not in found[statement].calls or not set(found[statement].calls) <= set(nodes):
            raise kept_otherwise()
    return list(found.values())


def _parse_site(statement: ast.stmt, node: ast.Call, function: Function, program: Program) -> Site:
    """Return the site of the operation ``node``, with the others in the same list. Raises NoFix."""
    if isinstance(statement, ast.Expr):
        value = statement.value
        if value is node and program.find_name(node) in ("recv", "send"):
            return Site(statement, (node,), Form.NONE)
        holder = _find_appended(statement)
        if holder is not None and isinstance(value, ast.Call) and value.args == [node]:
            return Site(statement, (node,), Form.APPEND, holder)
    elif isinstance(statement, ast.AugAssign) and isinstance(statement.value, ast.List):
        return Site(statement, _list_calls(statement.value), Form.APPEND, statement.target)
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        (target,) = statement.targets
        if statement.value is node and isinstance(target, ast.Name):
            into = _find_next_list(statement, target.id, function)
            return Site(
                statement, (node,), Form.NAME if into is None else Form.NAME_AND_APPEND, into or target
            )
        if isinstance(statement.value, ast.List):
            return Site(statement, _list_calls(statement.value), Form.LIST, target)
        if isinstance(statement.value, ast.ListComp) and statement.value.elt is node:
            return Site(statement, (node,), Form.LIST, target)
    raise kept_otherwise()


def _list_calls(node: ast.List) -> tuple[ast.Call, ...]:
    """Return the elements of a list if all are calls; none otherwise."""
    calls = tuple(element for element in node.elts if isinstance(element, ast.Call))
    return calls if len(calls) == len(node.elts) else ()


def _find_appended(statement: ast.stmt) -> ast.expr | None:
    """Return the list in ``list.append(…)``."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    function = value.func if isinstance(value, ast.Call) else None
    return function.value if isinstance(function, ast.Attribute) and function.attr == "append" else None


def _find_next_list(statement: ast.stmt, name: str, function: Function) -> ast.expr | None:
    """Return the list that the next statement appends the request to, if nothing else uses the request."""
    nodes = list(ast.walk(function.node))
    loops = [node for node in nodes if isinstance(node, ast.For) and ast.unparse(node.target) == name]
    inside = {part for loop in loops for part in ast.walk(loop)}
    names = [node for node in nodes if isinstance(node, ast.Name) and node.id == name and node not in inside]
    block = function.blocks[statement]
    for after in block[block.index(statement) + 1 :][:1]:
        value = after.value if isinstance(after, ast.Expr) else None
        if len(names) == 2 and isinstance(value, ast.Call) and value.args == [names[1]]:
            return _find_appended(after)
    return None
