"""The statements that issue the operations of a trap, and what they do with the requests."""

from __future__ import annotations

import ast
import enum
from collections.abc import Sequence
from dataclasses import dataclass

from torchmigrate.api import NoFix

from .._simulator.simulated_program import SimulatedProgram
from .trap_function import TrapFunction


class RequestForm(enum.Enum):
    """How a statement keeps the requests of its operations."""

    APPEND = enum.auto()
    """The statement adds the requests to a list."""
    LIST = enum.auto()
    """The statement creates a list of the requests."""
    NAME = enum.auto()
    """The statement assigns the only request to a variable."""
    NAME_AND_APPEND = enum.auto()
    """The statement assigns the only request to a variable, which the next statement appends to a list."""
    NONE = enum.auto()
    """The statement keeps no request: a blocking call."""


@dataclass(frozen=True)
class IssueSite:
    """The statement that issues one operation or several."""

    statement: ast.stmt
    calls: tuple[ast.Call, ...]
    form: RequestForm
    holder: ast.expr | None = None
    """The list or the variable that receives the requests."""

    @property
    def holder_text(self) -> str:
        """The holder as text; empty for none."""
        return ast.unparse(self.holder) if self.holder is not None else ""

    @property
    def assigned_value(self) -> ast.expr | None:
        """The assigned expression."""
        return self.statement.value if isinstance(self.statement, ast.Assign) else None


def refuse_requests() -> NoFix:
    """Return the reason for no fix where requests are kept in ways that are not supported."""
    return NoFix("the requests are stored in ways that a single batch cannot replace")


def parse_sites(
    nodes: Sequence[ast.Call], function: TrapFunction, program: SimulatedProgram
) -> list[IssueSite]:
    """Return the statements that issue the operations, in the order of the operations. Raises NoFix."""
    found: dict[ast.stmt, IssueSite] = {}
    for node in nodes:
        statement = function.find_statement(node)
        if statement not in found:
            found[statement] = _parse_site(statement, node, function, program)
        if node not in found[statement].calls or not set(found[statement].calls) <= set(nodes):
            raise refuse_requests()
    return list(found.values())


def _parse_site(
    statement: ast.stmt, node: ast.Call, function: TrapFunction, program: SimulatedProgram
) -> IssueSite:
    """Return the site of the operation ``node``, with the others in the same list. Raises NoFix."""
    if isinstance(statement, ast.Expr):
        value = statement.value
        if value is node and program.find_called_name(node) in ("recv", "send"):
            return IssueSite(statement, (node,), RequestForm.NONE)
        holder = _find_appended(statement)
        if holder is not None and isinstance(value, ast.Call) and value.args == [node]:
            return IssueSite(statement, (node,), RequestForm.APPEND, holder)
    elif isinstance(statement, ast.AugAssign) and isinstance(statement.value, ast.List):
        return IssueSite(statement, _list_calls(statement.value), RequestForm.APPEND, statement.target)
    elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        (target,) = statement.targets
        if statement.value is node and isinstance(target, ast.Name):
            into = _find_next_list(statement, target.id, function)
            return IssueSite(
                statement,
                (node,),
                RequestForm.NAME if into is None else RequestForm.NAME_AND_APPEND,
                into or target,
            )
        if isinstance(statement.value, ast.List):
            return IssueSite(statement, _list_calls(statement.value), RequestForm.LIST, target)
        if isinstance(statement.value, ast.ListComp) and statement.value.elt is node:
            return IssueSite(statement, (node,), RequestForm.LIST, target)
    raise refuse_requests()


def _list_calls(node: ast.List) -> tuple[ast.Call, ...]:
    """Return the elements of a list if all are calls; none otherwise."""
    calls = tuple(element for element in node.elts if isinstance(element, ast.Call))
    return calls if len(calls) == len(node.elts) else ()


def _find_appended(statement: ast.stmt) -> ast.expr | None:
    """Return the list in ``list.append(…)``."""
    value = statement.value if isinstance(statement, ast.Expr) else None
    function = value.func if isinstance(value, ast.Call) else None
    return function.value if isinstance(function, ast.Attribute) and function.attr == "append" else None


def _find_next_list(statement: ast.stmt, name: str, function: TrapFunction) -> ast.expr | None:
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
