"""One rank that interprets a program: what all parts of the interpreter share."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .schedule import Trace
from .values import (
    RELEVANT,
    WORLD,
    Method,
    World,
)

if TYPE_CHECKING:
    from .program import Program
    from .syntax import Syntax


class Machine:
    """One rank in the middle of a program: its variables, and the trace of what it has issued."""

    def __init__(
        self,
        program: Program,
        relevant: frozenset[str],
        syntax: Syntax,
        world: World,
        rank: int,
    ) -> None:
        self.program = program
        self.syntax = syntax
        self.relevant = relevant | RELEVANT
        self.world = world
        self.rank = rank
        self.trace: Trace = []
        self._has_partner = True
        """Whether a peer of which nothing is known may be taken for the one partner of each rank."""
        self._partner: str | None = None
        self._scope = program.scopes.module
        self._names: dict[str, Any] = {}
        self._globals: dict[str, Any] = {}
        self._world_group = WORLD
        self._is_assuming = False
        """Whether a rank that only its name tells has decided what runs."""
        self._is_confirmed = False
        """Whether that is the rank that the program hands to torch."""
        self._depth = 0
        self.steps = 0

    def value(self, node: ast.expr) -> Any:
        """What an expression evaluates to; its calls are executed."""
        raise NotImplementedError

    def execute(self, body: Iterable[ast.stmt]) -> None:
        """Executes statements."""
        raise NotImplementedError

    def _call_method(
        self, method: Method, arguments: list[Any], keywords: dict[str, Any], guessing: bool = False
    ) -> Any:
        raise NotImplementedError

    def _is_relevant(self, node: ast.AST) -> bool:
        return not self.relevant.isdisjoint(self.syntax.called(node))
