# ruff: noqa: N802 (handlers are named after the nodes of the syntax tree)
"""Runs a function of a file for one rank of a small world, and records what it sends, receives and waits for.

Ranks, peers, lists of requests and conditions on them are followed by value; everything else (tensors above all) is
`Opaque`. A condition that is opaque is the same on every rank, and both its outcomes are tried; where it decides the
order of sends and receives, or may differ from rank to rank, the code is not understood: `Unclear`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from .calls import Calls
from .values import (
    DIFFERS,
    EACH,
    SINGLE,
    Assumed,
    Broken,
    Continued,
    Instance,
    Method,
    Opaque,
    Raised,
    Returned,
    Unclear,
    is_true,
    method_of,
    nothing,
)


class Interpreter(Calls):
    """Executes code of one file for one rank; `trace` is what came of it. Raises Unclear, Raised, NotARing."""

    def run_module(self) -> None:
        """Executes the module's own statements."""
        self._globals = self._names
        try:
            self.execute(self.program.scopes.module.node.body)
        except Returned:
            raise Unclear from None

    def run_function(
        self, definition: ast.FunctionDef | ast.AsyncFunctionDef, owner: ast.ClassDef | None
    ) -> None:
        """Executes a function with arguments of which only the names are known."""
        instance = self._instance(owner, definition) if owner is not None else None
        self._call_method(Method(definition, instance), [], {}, guessing=True)

    def run_methods(
        self, owner: ast.ClassDef, methods: Iterable[ast.FunctionDef | ast.AsyncFunctionDef]
    ) -> None:
        """Executes methods one after the other on one object, as a program may that is not seen."""
        instance = self._instance(owner)
        self._has_partner = False  # each call may name another peer
        for method in methods:
            self._call_method(Method(method, instance), [], {}, guessing=True)

    def _instance(self, owner: ast.ClassDef, definition: ast.AST | None = None) -> Instance:
        """An object of which only the names of what made it are known."""
        instance = Instance(owner)
        init = method_of(owner, "__init__")
        if init is not None and init is not definition:
            before = len(self.trace)
            try:
                self._call_method(Method(init, instance), [], {}, guessing=True)
            except (Unclear, Raised):
                instance.attributes.clear()
            del self.trace[before:]
        return instance

    def execute(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self.steps += 1
            if self.steps > 4000:
                raise Unclear
            handler = getattr(self, "_do_" + type(statement).__name__, None)
            if handler is not None:
                handler(statement)
            elif self._is_relevant(statement):
                raise Unclear

    def _do_FunctionDef(self, statement: ast.FunctionDef) -> None:
        self._names[statement.name] = Method(statement)

    def _do_ClassDef(self, statement: ast.ClassDef) -> None:
        self._names[statement.name] = statement

    def _do_Expr(self, statement: ast.Expr) -> None:
        self.value(statement.value)

    def _do_Return(self, statement: ast.Return) -> None:
        raise Returned(self.value(statement.value) if statement.value else None)

    def _do_Raise(self, statement: ast.Raise) -> None:
        raise Raised

    def _do_Break(self, statement: ast.Break) -> None:
        raise Broken

    def _do_Continue(self, statement: ast.Continue) -> None:
        raise Continued

    def _do_Assert(self, statement: ast.Assert) -> None:
        if self._truth(self.value(statement.test)) is False:
            raise Raised

    def _do_Assign(self, statement: ast.Assign) -> None:
        value = self.value(statement.value)
        for target in statement.targets:
            self._assign(target, value)

    def _do_AnnAssign(self, statement: ast.AnnAssign) -> None:
        if statement.value is not None:
            self._assign(statement.target, self.value(statement.value))

    def _do_AugAssign(self, statement: ast.AugAssign) -> None:
        old, new = self.value(statement.target), self.value(statement.value)
        if isinstance(old, list) and isinstance(statement.op, ast.Add) and isinstance(new, (list, tuple)):
            old.extend(new)
            return
        self._assign(statement.target, self._binary(statement.op, old, new, statement))

    def _do_If(self, statement: ast.If) -> None:
        test = self.value(statement.test)
        truth = self._truth(test)
        if truth is not None:
            self._decided_by(test, statement)
            self.execute(statement.body if truth else statement.orelse)
            return
        self._fork(statement.test, statement.body, statement.orelse)

    def _decided_by(self, test: Any, statement: ast.stmt) -> None:
        """Notes that a test has decided whether a statement is executed."""
        if isinstance(test, Assumed):
            self._is_assuming |= self._is_relevant(statement) or self.syntax.leaves(statement)

    def _fork(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        """Takes one of two ways of which it is unknown which one is taken."""
        matters = [
            any(self._is_relevant(s) or self.syntax.leaves(s) for s in branch) for branch in (body, orelse)
        ]
        if not any(matters):
            for name in frozenset().union(*map(self.syntax.assigned, (*body, *orelse))):
                self._names[name] = Opaque(name)
            return
        single = [
            any(not SINGLE.isdisjoint(self.syntax.called(s)) for s in branch) for branch in (body, orelse)
        ]
        if all(single) or (single[0] and any(map(self.syntax.leaves, body))):
            raise Unclear
        if any(single) and DIFFERS.search(self.syntax.text(test)):
            raise Unclear
        self.execute(body if self._choose(test, not any(map(self.syntax.leaves, body))) else orelse)

    def _do_For(self, statement: ast.For) -> None:
        items = self.value(statement.iter)
        if not isinstance(items, (list, tuple, dict)):
            items = [Opaque(f"{EACH}{self.syntax.text(statement.iter)}")]
            if not self._is_relevant(statement):
                for name in self.syntax.assigned(statement):
                    self._names[name] = Opaque(name)
                return
        self._loop((partial(self._assign, statement.target, item) for item in list(items)), statement.body)
        self.execute(statement.orelse)

    def _do_While(self, statement: ast.While) -> None:
        def rounds() -> Iterable[Callable[[], None]]:
            for count in range(64):
                test = self.value(statement.test)
                self._decided_by(test, statement)
                truth = self._truth(test)
                if truth is False or (count and truth is None) or (count == 2 and is_true(statement.test)):
                    return
                yield nothing

        if self._is_relevant(statement):
            self._loop(rounds(), statement.body)

    def _loop(self, rounds: Iterable[Callable[[], None]], body: list[ast.stmt]) -> None:
        for begin in rounds:
            begin()
            try:
                self.execute(body)
            except Broken:
                return
            except Continued:
                continue

    def _do_With(self, statement: ast.With) -> None:
        for item in statement.items:
            value = self.value(item.context_expr)
            if item.optional_vars is not None:
                self._assign(item.optional_vars, value if isinstance(value, Instance) else Opaque("with"))
        self.execute(statement.body)

    def _do_Try(self, statement: ast.Try) -> None:
        if any(self._is_relevant(handler) for handler in statement.handlers):
            raise Unclear
        self.execute(statement.body)
        self.execute(statement.orelse)
        self.execute(statement.finalbody)
