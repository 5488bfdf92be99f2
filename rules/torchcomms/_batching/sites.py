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
    finding = _Finding(nodes, function, program)
    found: dict[ast.stmt, Site] = {}
    for node in nodes:
        statement = function.statement_of(node)
        if statement not in found:
            found[statement] = finding.site(statement, node)
        if node not in found[statement].calls:
            raise kept_otherwise()
    return list(found.values())


@dataclass(frozen=True)
class _Finding:
    nodes: Sequence[ast.Call]
    function: Function
    program: Program

    def site(self, statement: ast.stmt, node: ast.Call) -> Site:
        """Return the site of the operation ``node``, with the others in the same list. Raises NoFix."""
        if isinstance(statement, ast.Expr):
            value = statement.value
            if value is node and self.program.find_name(node) in ("recv", "send"):
                return Site(statement, (node,), Form.NONE)
            function = value.func if isinstance(value, ast.Call) and value.args == [node] else None
            if isinstance(function, ast.Attribute) and function.attr == "append":
                return Site(statement, (node,), Form.APPEND, function.value)
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.value, ast.List):
            return Site(statement, self._elements(statement.value), Form.APPEND, statement.target)
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            (target,) = statement.targets
            if statement.value is node and isinstance(target, ast.Name):
                into = self._appended_to(statement, target.id)
                form = Form.NAME if into is None else Form.NAME_AND_APPEND
                return Site(statement, (node,), form, into or target)
            if isinstance(statement.value, ast.List):
                return Site(statement, self._elements(statement.value), Form.LIST, target)
            if isinstance(statement.value, ast.ListComp) and statement.value.elt is node:
                return Site(statement, (node,), Form.LIST, target)
        raise kept_otherwise()

    def _elements(self, node: ast.List) -> tuple[ast.Call, ...]:
        calls = tuple(element for element in node.elts if isinstance(element, ast.Call))
        return calls if len(calls) == len(node.elts) and set(calls) <= set(self.nodes) else ()

    def _appended_to(self, statement: ast.stmt, name: str) -> ast.expr | None:
        """Return the list that the next statement appends the request to, if nothing else uses the request."""
        block, whole = self.function.blocks[statement], self.function.node
        loops = [n for n in ast.walk(whole) if isinstance(n, ast.For) and ast.unparse(n.target) == name]
        inside = {part for loop in loops for part in ast.walk(loop)}
        reads = [n for n in ast.walk(whole) if isinstance(n, ast.Name) and n.id == name and n not in inside]
        for after in block[block.index(statement) + 1 : block.index(statement) + 2]:
            value = after.value if isinstance(after, ast.Expr) else None
            function = value.func if isinstance(value, ast.Call) else None
            appends = isinstance(function, ast.Attribute) and function.attr == "append"
            if appends and len(reads) == 2 and isinstance(value, ast.Call) and value.args == [reads[1]]:
                assert isinstance(function, ast.Attribute)
                return function.value
        return None
