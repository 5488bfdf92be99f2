"""Reaching definitions: which bindings of a variable reach each read of it, inside one scope.

Control flow is followed as it is written: branches join, loops run any number of times, a handler may be entered
from anywhere in its ``try`` block. A ``with`` statement is taken not to swallow exceptions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from torchmigrate.semantics import node_walks

State = frozenset[ast.AST]
"""The bindings that may have given the variable its value; empty where the code cannot be reached."""

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFERRED = (*FUNCTIONS, ast.Lambda)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(slots=True)
class _LoopState:
    breaks: State = frozenset()
    continues: State = frozenset()


@dataclass(slots=True)
class ReachingBindings:
    """Computes which bindings of ``name`` reach each read of it in one scope's statements."""

    name: str
    reads: dict[ast.Name, State] = field(default_factory=dict)
    captured: dict[ast.Name, State] = field(default_factory=dict)
    """Reads in functions defined inside, which run at an unknown time, with the bindings known at the definition."""
    bindings: set[ast.AST] = field(default_factory=set)
    unclear: bool = False
    """Whether the variable is bound in a way that is not followed (``:=``, ``nonlocal``)."""
    _definitions: dict[ast.Name, ast.AST] = field(default_factory=dict)
    """The function around each captured read."""
    _loops: list[_LoopState] = field(default_factory=list)

    def find_captured_bindings(self, read: ast.Name) -> State:
        """Return the bindings that a captured read may see: those known at its function, and all later ones."""
        line = getattr(self._definitions[read], "lineno", 0)
        return self.captured[read] | {node for node in self.bindings if getattr(node, "lineno", line) >= line}

    def run_block(self, body: Iterable[ast.stmt], state: State) -> State:
        """Run a block of statements; return the state after them."""
        for statement in body:
            state = self._run_statement(statement, state)
        return state

    def _record_binding(self, node: ast.AST) -> State:
        self.bindings.add(node)
        return frozenset({node})

    def _run_expression(self, node: ast.AST | None, state: State) -> None:
        if node is None:
            return
        if isinstance(node, ast.Name):
            if node.id == self.name:
                if isinstance(node.ctx, ast.Load):
                    self.reads[node] = self.reads.get(node, frozenset()) | state
                else:
                    self.unclear = True
        elif isinstance(node, DEFERRED):
            self._read_definition(node, state)
        elif isinstance(node, COMPREHENSIONS) and any(
            _binds_name(g.target, self.name) for g in node.generators
        ):
            self._run_expression(node.generators[0].iter, state)
        else:
            for child in node_walks.iterate_children(node):
                self._run_expression(child, state)

    def _read_definition(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef, state: State
    ) -> None:
        """Run a definition: its decorators and defaults now, its body at an unknown time."""
        if not isinstance(node, ast.Lambda):
            for decorator in node.decorator_list:
                self._run_expression(decorator, state)
        if isinstance(node, ast.ClassDef):
            for base in (*node.bases, *node.keywords):
                self._run_expression(base, state)
        else:
            for default in (*node.args.defaults, *node.args.kw_defaults):
                self._run_expression(default, state)
            if any(
                isinstance(part, ast.arg) and part.arg == self.name
                for part in ast.iter_child_nodes(node.args)
            ):
                return
        body = node.body if isinstance(node.body, list) else [node.body]
        declared, names = False, []
        for part in (part for statement in body for part in node_walks.walk_nodes(statement)):
            if isinstance(part, ast.Name):
                if part.id == self.name:
                    names.append(part)
            elif isinstance(part, (ast.Global, ast.Nonlocal)):
                declared = declared or self.name in part.names
        if any(not isinstance(n.ctx, ast.Load) for n in names):
            self.unclear |= declared
            return  # a variable of its own
        self.captured.update(dict.fromkeys(names, state))
        self._definitions.update(dict.fromkeys(names, node))

    def _bind_target(self, target: ast.AST | None, state: State) -> State:
        """Bind a target; return the state after it."""
        if isinstance(target, ast.Name):
            return self._record_binding(target) if target.id == self.name else state
        if isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                state = self._bind_target(element, state)
            return state
        if isinstance(target, ast.Starred):
            return self._bind_target(target.value, state)
        self._run_expression(target, state)
        return state

    def _run_statement(self, node: ast.stmt, state: State) -> State:
        handler = getattr(self, f"_{type(node).__name__.lower()}", None)
        if handler is not None:
            result: State = handler(node, state)
            return result
        self._run_expression(node, state)
        return state

    def _assign(self, node: ast.Assign, state: State) -> State:
        self._run_expression(node.value, state)
        for target in node.targets:
            state = self._bind_target(target, state)
        return state

    def _annassign(self, node: ast.AnnAssign, state: State) -> State:
        self._run_expression(node.value, state)
        return self._bind_target(node.target, state) if node.value is not None else state

    def _augassign(self, node: ast.AugAssign, state: State) -> State:
        self._run_expression(node.value, state)
        if isinstance(node.target, ast.Name) and node.target.id == self.name:
            self.unclear = True
        return self._bind_target(node.target, state)

    def _delete(self, node: ast.Delete, state: State) -> State:
        for target in node.targets:
            state = self._bind_target(target, state)
        return state

    def _import(self, node: ast.Import | ast.ImportFrom, state: State) -> State:
        names = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        return self._record_binding(node) if self.name in names else state

    _importfrom = _import

    def _functiondef(self, node: ast.FunctionDef | ast.ClassDef, state: State) -> State:
        self._read_definition(node, state)
        return self._record_binding(node) if node.name == self.name else state

    _asyncfunctiondef = _classdef = _functiondef

    def _return(self, node: ast.Return, state: State) -> State:
        self._run_expression(node.value, state)
        return frozenset()

    def _raise(self, node: ast.Raise, state: State) -> State:
        self._run_expression(node.exc, state)
        self._run_expression(node.cause, state)
        return frozenset()

    def _break(self, _node: ast.Break, state: State) -> State:
        self._loops[-1].breaks |= state
        return frozenset()

    def _continue(self, _node: ast.Continue, state: State) -> State:
        self._loops[-1].continues |= state
        return frozenset()

    def _if(self, node: ast.If, state: State) -> State:
        self._run_expression(node.test, state)
        return self.run_block(node.body, state) | self.run_block(node.orelse, state)

    def _for(self, node: ast.For | ast.AsyncFor | ast.While, state: State) -> State:
        if not isinstance(node, ast.While):
            self._run_expression(node.iter, state)
        loop = _LoopState()
        self._loops.append(loop)
        for _ in range(2):  # what one round binds, the next one reads
            inner = state
            if isinstance(node, ast.While):
                self._run_expression(node.test, state)
            else:
                inner = self._bind_target(node.target, state)
            before, state = state, state | self.run_block(node.body, inner) | loop.continues
            if state == before:
                break
        self._loops.pop()
        return self.run_block(node.orelse, state) | loop.breaks

    _asyncfor = _while = _for

    def _with(self, node: ast.With | ast.AsyncWith, state: State) -> State:
        for item in node.items:
            self._run_expression(item.context_expr, state)
            state = self._bind_target(item.optional_vars, state)
        return self.run_block(node.body, state)

    _asyncwith = _with

    def _try(self, node: ast.Try, state: State) -> State:
        known = set(self.bindings)
        after = self.run_block(node.body, state)
        broken = state | (self.bindings - known)
        after = self.run_block(node.orelse, after)
        for handler in node.handlers:
            self._run_expression(handler.type, broken)
            inner = self._record_binding(handler) if handler.name == self.name else broken
            after |= self.run_block(handler.body, inner)
        if node.finalbody:
            self.run_block(node.finalbody, after | broken)
            parts = (part for statement in node.finalbody for part in node_walks.walk_nodes(statement))
            if any(_binds_name(part, self.name) for part in parts):
                return self.run_block(node.finalbody, after)
        return after

    _trystar = _try

    def _match(self, node: ast.Match, state: State) -> State:
        self._run_expression(node.subject, state)
        after = state
        for case in node.cases:
            captures = {
                n
                for n in node_walks.walk_nodes(case.pattern)
                if self.name in (getattr(n, "name", 0), getattr(n, "rest", 0))
            }
            inner = self._record_binding(case.pattern) if captures else state
            self._run_expression(case.guard, inner)
            after |= self.run_block(case.body, inner)
        return after


def _binds_name(node: ast.AST, name: str) -> bool:
    return any(
        isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load)
        for n in node_walks.walk_nodes(node)
    )
