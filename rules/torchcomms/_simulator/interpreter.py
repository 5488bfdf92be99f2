# ruff: noqa: N802 (handlers are named after the nodes of the syntax tree)
"""Runs a function of a file for one rank of a small world, and records what it sends, receives and waits for.

Ranks, peers, lists of requests and conditions on them are followed by value; everything else (tensors above all) is
`Opaque`. A condition that is opaque is the same on every rank, and both its outcomes are tried; where it decides the
order of sends and receives, or may differ from rank to rank, the code is not understood: `UnclearCode`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from .call_evaluation import CallEvaluator
from .followed_values import (
    RANK_WORDS,
    AssumedRank,
    BoundFunction,
    FileObject,
    FunctionDefinition,
    FunctionReturned,
    LoopBroken,
    LoopContinued,
    Opaque,
    ProgramRaised,
    UnclearCode,
    find_method,
)

_MAX_STEPS = 4000


class ProgramInterpreter(CallEvaluator):
    """Executes code of one file for one rank, and fills `trace`. Raises UnclearCode, ProgramRaised, NotARing."""

    def run_module(self) -> None:
        """Execute the module's own statements."""
        self._globals = self._names
        try:
            self.execute(self.program.tree.body)
        except FunctionReturned:
            raise UnclearCode from None

    def run_function(self, definition: FunctionDefinition, owner: ast.ClassDef | None) -> None:
        """Execute a function with arguments of which only the names are known."""
        instance = self._create_instance(owner, definition) if owner is not None else None
        self.call_function(BoundFunction(definition, instance), [], {}, is_root=True)

    def run_methods(self, owner: ast.ClassDef, methods: Iterable[FunctionDefinition]) -> None:
        """Execute methods one after the other on one object, as a caller elsewhere may do."""
        instance = self._create_instance(owner)
        self._has_partner = False  # each call may name another peer
        for method in methods:
            self.call_function(BoundFunction(method, instance), [], {}, is_root=True)

    def _create_instance(
        self, owner: ast.ClassDef, definition: FunctionDefinition | None = None
    ) -> FileObject:
        """Return an instance of a class of the file, created with arguments of which only the names are known."""
        instance = FileObject(owner)
        init = find_method(owner, "__init__")
        if init is not None and init is not definition:
            before = len(self.trace)
            try:
                self.call_function(BoundFunction(init, instance), [], {}, is_root=True)
            except (UnclearCode, ProgramRaised):
                instance.attributes.clear()
            del self.trace[before:]  # the function that follows is judged alone
        return instance

    def execute(self, body: Iterable[ast.stmt]) -> None:
        """Execute statements."""
        for statement in body:
            self.steps += 1
            if self.steps > _MAX_STEPS:
                raise UnclearCode
            handler = getattr(self, "_do_" + type(statement).__name__, None)
            if handler is not None:
                handler(statement)
            elif self.program.is_relevant(statement):
                raise UnclearCode

    def _do_FunctionDef(self, statement: ast.FunctionDef) -> None:
        self._names[statement.name] = BoundFunction(statement)

    def _do_ClassDef(self, statement: ast.ClassDef) -> None:
        self._names[statement.name] = statement

    def _do_Expr(self, statement: ast.Expr) -> None:
        self.evaluate(statement.value)

    def _do_Return(self, statement: ast.Return) -> None:
        raise FunctionReturned(self.evaluate(statement.value) if statement.value else None)

    def _do_Raise(self, statement: ast.Raise) -> None:
        raise ProgramRaised

    def _do_Break(self, statement: ast.Break) -> None:
        raise LoopBroken

    def _do_Continue(self, statement: ast.Continue) -> None:
        raise LoopContinued

    def _do_Assert(self, statement: ast.Assert) -> None:
        if self._decide_truth(self.evaluate(statement.test)) is False:
            raise ProgramRaised

    def _do_Assign(self, statement: ast.Assign) -> None:
        value = self.evaluate(statement.value)
        for target in statement.targets:
            self._assign_target(target, value)

    def _do_AnnAssign(self, statement: ast.AnnAssign) -> None:
        if statement.value is not None:
            self._assign_target(statement.target, self.evaluate(statement.value))

    def _do_AugAssign(self, statement: ast.AugAssign) -> None:
        old, new = self.evaluate(statement.target), self.evaluate(statement.value)
        if isinstance(old, list) and isinstance(statement.op, ast.Add) and isinstance(new, (list, tuple)):
            old.extend(new)
            return
        self._assign_target(statement.target, self._apply_operator(statement.op, old, new, statement))

    def _do_If(self, statement: ast.If) -> None:
        test = self.evaluate(statement.test)
        truth = self._decide_truth(test)
        if truth is None:
            self._try_branches(statement)
            return
        self._note_decision(test, statement)
        self.execute(statement.body if truth else statement.orelse)

    def _note_decision(self, test: Any, statement: ast.stmt) -> None:
        if isinstance(test, AssumedRank):
            self._is_assuming |= self._is_decisive(statement)

    def _is_decisive(self, statement: ast.stmt) -> bool:
        return self.program.is_relevant(statement) or self.program.leaves(statement)

    def _try_branches(self, statement: ast.If) -> None:
        """Execute one of two branches, although the condition is unknown."""
        body, orelse = statement.body, statement.orelse
        if not any(map(self._is_decisive, (*body, *orelse))):
            self._forget_assigned(statement)
            return
        issuing = [any(map(self.program.issues_single, branch)) for branch in (body, orelse)]
        leaves = any(map(self.program.leaves, body))
        # Which branch a rank takes decides the order of its operations, so a wrong assumption would be a wrong finding.
        if all(issuing) or (issuing[0] and leaves):
            raise UnclearCode
        if any(issuing) and RANK_WORDS.search(self.program.text(statement.test)):
            if not _tests_presence(statement):
                raise UnclearCode
            self.world.is_presumed = True
            self.execute(body)
            return
        self.execute(body if self._choose_outcome(statement.test, not leaves) else orelse)

    def _forget_assigned(self, statement: ast.stmt) -> None:
        self._names |= {name: Opaque(name) for name in self.program.assigned(statement)}

    def _do_For(self, statement: ast.For) -> None:
        items = self._list_items(statement.iter)
        is_known = not (len(items) == 1 and isinstance(items[0], Opaque))
        if not is_known and not self.program.is_relevant(statement):
            self._forget_assigned(statement)
            return
        self._run_rounds(self._assign_items(statement.target, items), statement.body)
        self.execute(statement.orelse)

    def _assign_items(self, target: ast.expr, items: list[Any]) -> Iterator[None]:
        for item in items:
            self._assign_target(target, item)
            yield

    def _do_While(self, statement: ast.While) -> None:
        if self.program.is_relevant(statement):
            self._run_rounds(self._count_rounds(statement), statement.body)

    def _count_rounds(self, statement: ast.While) -> Iterator[None]:
        """Yield once for each round; two rounds of a loop without end, and one where the condition is unknown."""
        is_endless = isinstance(statement.test, ast.Constant)
        for count in range(64):
            test = self.evaluate(statement.test)
            self._note_decision(test, statement)
            truth = self._decide_truth(test)
            if truth is False or (count and truth is None) or (count == 2 and is_endless):
                return
            yield

    def _run_rounds(self, rounds: Iterable[None], body: list[ast.stmt]) -> None:
        with suppress(LoopBroken):
            for _ in rounds:
                with suppress(LoopContinued):
                    self.execute(body)

    def _do_With(self, statement: ast.With) -> None:
        for item in statement.items:
            value = self.evaluate(item.context_expr)
            if item.optional_vars is not None:
                self._assign_target(
                    item.optional_vars, value if isinstance(value, FileObject) else Opaque("with")
                )
        self.execute(statement.body)

    def _do_Try(self, statement: ast.Try) -> None:
        if any(self.program.is_relevant(handler) for handler in statement.handlers):
            raise UnclearCode
        for block in (statement.body, statement.orelse, statement.finalbody):
            self.execute(block)


def _tests_presence(statement: ast.If) -> bool:
    """Return whether a statement does something only if a tensor is given: ``if outgoing is not None:``."""
    test = statement.test
    is_not = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot)
    return is_not and not statement.orelse
