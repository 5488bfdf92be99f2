"""Where a value goes inside its scope: which reads of a variable see which assignment.

Control flow is followed as it is written: branches join, loops run any number of times, a handler may be entered
from anywhere in its ``try`` block. A ``with`` statement is taken not to swallow exceptions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from torchmigrate.semantics import nodes
from torchmigrate.semantics.scopes import Scope, Scopes

State = frozenset[ast.AST]
"""The bindings that may have given the variable its value; empty where the code cannot be reached."""

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)
_Deferred = (*_Function, ast.Lambda)
_Comprehension = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_Wholes = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Starred, ast.IfExp, ast.BoolOp)

RETURNED = "is returned, and what the callers do with it is not known here"
"""The message of an `Escape` to the callers of the function."""


class Escape(Exception):
    """A value goes where it cannot be followed; the message says where, to be read after "its result"."""


@dataclass(slots=True)
class _Loop:
    breaks: State = frozenset()
    continues: State = frozenset()


@dataclass(slots=True)
class Reaching:
    """The bindings that reach each read of ``name`` in one scope's statements."""

    name: str
    reads: dict[ast.Name, State] = field(default_factory=dict)
    captured: list[ast.Name] = field(default_factory=list)
    """Reads in functions defined inside, which run at an unknown time."""
    bindings: set[ast.AST] = field(default_factory=set)
    unclear: bool = False
    """Whether the variable is bound in a way that is not followed (``:=``, ``nonlocal``)."""
    _loops: list[_Loop] = field(default_factory=list)

    def block(self, body: Iterable[ast.stmt], state: State) -> State:
        """Runs statements; returns the state after them."""
        for statement in body:
            state = self._statement(statement, state)
        return state

    def _bind(self, node: ast.AST) -> State:
        self.bindings.add(node)
        return frozenset({node})

    def _expression(self, node: ast.AST | None, state: State) -> None:
        if node is None:
            return
        if isinstance(node, ast.Name):
            if node.id == self.name:
                if isinstance(node.ctx, ast.Load):
                    self.reads[node] = self.reads.get(node, frozenset()) | state
                else:
                    self.unclear = True
        elif isinstance(node, _Deferred):
            self._inside(node, state)
        elif isinstance(node, _Comprehension) and any(_binds(g.target, self.name) for g in node.generators):
            self._expression(node.generators[0].iter, state)
        else:
            for child in nodes.children(node):
                self._expression(child, state)

    def _inside(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef, state: State
    ) -> None:
        """What a definition reads: its decorators and defaults now, its body at some time."""
        if not isinstance(node, ast.Lambda):
            for decorator in node.decorator_list:
                self._expression(decorator, state)
        if isinstance(node, ast.ClassDef):
            for base in (*node.bases, *node.keywords):
                self._expression(base, state)
        else:
            for default in (*node.args.defaults, *node.args.kw_defaults):
                self._expression(default, state)
            arguments = node.args
            every = [
                *arguments.posonlyargs,
                *arguments.args,
                *arguments.kwonlyargs,
                arguments.vararg,
                arguments.kwarg,
            ]
            if any(argument is not None and argument.arg == self.name for argument in every):
                return
        body = node.body if isinstance(node.body, list) else [node.body]
        inner = [part for statement in body for part in nodes.walk(statement)]
        declared = [n for n in inner if isinstance(n, (ast.Global, ast.Nonlocal)) and self.name in n.names]
        names = [n for n in inner if isinstance(n, ast.Name) and n.id == self.name]
        if any(not isinstance(n.ctx, ast.Load) for n in names):
            self.unclear |= bool(declared)
            return  # a variable of its own
        self.captured.extend(names)

    def _target(self, target: ast.AST | None, state: State) -> State:
        """Binds a target; returns the state after it."""
        if isinstance(target, ast.Name):
            return self._bind(target) if target.id == self.name else state
        if isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                state = self._target(element, state)
            return state
        if isinstance(target, ast.Starred):
            return self._target(target.value, state)
        self._expression(target, state)
        return state

    def _statement(self, node: ast.stmt, state: State) -> State:
        handler = getattr(self, f"_{type(node).__name__.lower()}", None)
        if handler is not None:
            result: State = handler(node, state)
            return result
        self._expression(node, state)
        return state

    def _assign(self, node: ast.Assign, state: State) -> State:
        self._expression(node.value, state)
        for target in node.targets:
            state = self._target(target, state)
        return state

    def _annassign(self, node: ast.AnnAssign, state: State) -> State:
        self._expression(node.value, state)
        return self._target(node.target, state) if node.value is not None else state

    def _augassign(self, node: ast.AugAssign, state: State) -> State:
        self._expression(node.value, state)
        if isinstance(node.target, ast.Name) and node.target.id == self.name:
            self.unclear = True
        return self._target(node.target, state)

    def _delete(self, node: ast.Delete, state: State) -> State:
        for target in node.targets:
            state = self._target(target, state)
        return state

    def _import(self, node: ast.Import | ast.ImportFrom, state: State) -> State:
        names = [alias.asname or alias.name.partition(".")[0] for alias in node.names]
        return self._bind(node) if self.name in names else state

    _importfrom = _import

    def _functiondef(self, node: ast.FunctionDef | ast.ClassDef, state: State) -> State:
        self._inside(node, state)
        return self._bind(node) if node.name == self.name else state

    _asyncfunctiondef = _classdef = _functiondef

    def _return(self, node: ast.Return, state: State) -> State:
        self._expression(node.value, state)
        return frozenset()

    def _raise(self, node: ast.Raise, state: State) -> State:
        self._expression(node.exc, state)
        self._expression(node.cause, state)
        return frozenset()

    def _break(self, _node: ast.Break, state: State) -> State:
        self._loops[-1].breaks |= state
        return frozenset()

    def _continue(self, _node: ast.Continue, state: State) -> State:
        self._loops[-1].continues |= state
        return frozenset()

    def _if(self, node: ast.If, state: State) -> State:
        self._expression(node.test, state)
        return self.block(node.body, state) | self.block(node.orelse, state)

    def _for(self, node: ast.For | ast.AsyncFor | ast.While, state: State) -> State:
        if not isinstance(node, ast.While):
            self._expression(node.iter, state)
        loop = _Loop()
        self._loops.append(loop)
        for _ in range(2):  # what one round binds, the next one reads
            inner = state
            if isinstance(node, ast.While):
                self._expression(node.test, state)
            else:
                inner = self._target(node.target, state)
            before, state = state, state | self.block(node.body, inner) | loop.continues
            if state == before:
                break
        self._loops.pop()
        return self.block(node.orelse, state) | loop.breaks

    _asyncfor = _while = _for

    def _with(self, node: ast.With | ast.AsyncWith, state: State) -> State:
        for item in node.items:
            self._expression(item.context_expr, state)
            state = self._target(item.optional_vars, state)
        return self.block(node.body, state)

    _asyncwith = _with

    def _try(self, node: ast.Try, state: State) -> State:
        known = set(self.bindings)
        after = self.block(node.body, state)
        broken = state | (self.bindings - known)
        after = self.block(node.orelse, after)
        for handler in node.handlers:
            self._expression(handler.type, broken)
            inner = self._bind(handler) if handler.name == self.name else broken
            after |= self.block(handler.body, inner)
        if node.finalbody:
            self.block(node.finalbody, after | broken)
            return after if not self._binds_in(node.finalbody) else self.block(node.finalbody, after)
        return after

    _trystar = _try

    def _binds_in(self, body: list[ast.stmt]) -> bool:
        return any(_binds(part, self.name) for statement in body for part in nodes.walk(statement))

    def _match(self, node: ast.Match, state: State) -> State:
        self._expression(node.subject, state)
        after = state
        for case in node.cases:
            captures = {
                n
                for n in nodes.walk(case.pattern)
                if self.name in (getattr(n, "name", 0), getattr(n, "rest", 0))
            }
            inner = self._bind(case.pattern) if captures else state
            self._expression(case.guard, inner)
            after |= self.block(case.body, inner)
        return after


class Flow:
    """Follows values through the scopes of one file."""

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes
        self._reaching: dict[tuple[Scope, str], Reaching] = {}
        self._naming: dict[Scope, dict[str | None, list[int]]] = {}

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The parent of every node of the file."""
        return nodes.parents(self._scopes.module.node)

    @cached_property
    def attributes(self) -> dict[str, list[str]]:
        """The attributes that the file asks of each variable, by its name."""
        found: dict[str, list[str]] = {}
        for node in self.parents:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found.setdefault(node.value.id, []).append(node.attr)
        return found

    def reaching(self, name: str, scope: Scope) -> Reaching:
        """The reads of a variable of ``scope``, with what reaches each."""
        key = (scope, name)
        if key not in self._reaching:
            reaching = self._reaching[key] = Reaching(name)
            reaching.block(self._concerned(name, scope), frozenset({scope.node}))
        return self._reaching[key]

    def _concerned(self, name: str, scope: Scope) -> list[ast.stmt]:
        """The statements of a scope that name a variable, or may leave the scope."""
        if scope not in self._naming:
            index: dict[str | None, list[int]] = {None: []}
            for number, statement in enumerate(scope.node.body):
                for named in _names(statement):
                    index.setdefault(named, []).append(number)
            self._naming[scope] = index
        index = self._naming[scope]
        return [scope.node.body[number] for number in sorted({*index[None], *index.get(name, ())})]

    def definition(self, read: ast.Name, scope: Scope) -> ast.expr | None:
        """The expression whose value a variable certainly has where it is read, if one is assigned to it."""
        owner = scope.find(read.id)
        if owner is None:
            return None
        reaching = self.reaching(read.id, owner)
        state = reaching.reads.get(read)
        if state is None and read in reaching.captured and len(reaching.bindings) == 1:
            state = frozenset(reaching.bindings)
        if state is None or len(state) != 1 or reaching.unclear:
            return None
        parent = self.parents.get(next(iter(state)))
        if isinstance(parent, (ast.Assign, ast.AnnAssign)) and _sole_target(parent) in state:
            return parent.value
        return None

    def places(self, value: ast.expr, scope: Scope) -> Iterator[ast.expr]:
        """Every expression that has the value of ``value``: itself where it is used at once, or the reads of the
        variable that it is assigned to. Raises `Escape` where some of them cannot be known."""
        parent = self.parents.get(value)
        assigned = isinstance(parent, (ast.Assign, ast.AnnAssign)) and parent.value is value
        target = _sole_target(parent) if assigned else None  # type: ignore[arg-type]
        if isinstance(target, ast.Name):
            yield from self.reads(target, scope)
        else:
            yield value

    def reads(self, target: ast.Name, scope: Scope) -> Iterator[ast.expr]:
        """What reads the value that is bound to ``target``. Raises `Escape` where another one, but None, may be read."""
        if target.id in scope.outer or scope.is_class:
            raise Escape(f"is kept in `{target.id}`, which other functions can change")
        reaching = self.reaching(target.id, scope)
        if reaching.unclear or (reaching.captured and len(reaching.bindings) > 1):
            raise Escape(f"is kept in `{target.id}`, which is bound in more than one way")
        for read, state in reaching.reads.items():
            if target in state:
                if not all(other is target or self._is_none(other, target.id, scope) for other in state):
                    raise Escape(self._one_of_several(target, read, reaching))
                yield from self.places(read, scope)
        if len(reaching.bindings) == 1:
            for read in reaching.captured:
                yield read

    def _one_of_several(self, target: ast.Name, read: ast.Name, reaching: Reaching) -> str:
        """How a value leaves the scope that is read where another one may be; returning it matters more than the rest."""
        reads = (other for other, state in reaching.reads.items() if target in state)
        if any(is_returned(other, self.parents) for other in reads):
            return RETURNED
        others = sorted(o.lineno for o in reaching.reads[read] if isinstance(o, ast.expr) and o is not target)
        bound = f": line {others[0]} may have bound another" if others else ""
        return f"is not the only value that `{target.id}` may have in line {read.lineno}{bound}"

    def _is_none(self, binding: ast.AST, name: str, scope: Scope) -> bool:
        """Whether a binding gives no value: ``x = None``, or none yet."""
        if binding is scope.node:
            return not any(isinstance(other.node, ast.arg) for other in scope.bindings[name])
        parent = self.parents.get(binding)
        value = parent.value if isinstance(parent, (ast.Assign, ast.AnnAssign)) else None
        return isinstance(value, ast.Constant) and value.value is None

    def is_repeated(self, node: ast.AST, origin: ast.AST) -> bool:
        """Whether ``node`` may run more often than ``origin``: in a loop, comprehension or function that it is not in."""
        around = set(self._upwards(origin))
        return any(
            isinstance(parent, (ast.For, ast.AsyncFor, ast.While, *_Deferred, *_Comprehension))
            for parent in self._upwards(node)
            if parent not in around
        )

    def _upwards(self, node: ast.AST) -> Iterator[ast.AST]:
        parent = self.parents.get(node)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent)


def is_returned(place: ast.expr, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether a scope returns the value in a place, by itself or as a part of something."""
    part, parent = place, parents.get(place)
    while isinstance(parent, _Wholes) and getattr(parent, "test", None) is not part:
        part, parent = parent, parents.get(parent)
    return isinstance(parent, (ast.Return, ast.Yield))


def _sole_target(statement: ast.Assign | ast.AnnAssign) -> ast.AST | None:
    if isinstance(statement, ast.AnnAssign):
        return statement.target
    return statement.targets[0] if len(statement.targets) == 1 else None


def _names(statement: ast.stmt) -> set[str | None]:
    """Every name in a statement, in whatever role, and None for what may leave the scope or a loop."""
    found: set[str | None] = set()
    for node in nodes.walk(statement):
        if isinstance(node, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            found.add(None)
        for field_name in node._fields:
            value = getattr(node, field_name, None)
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, str):
                    found.add(item.partition(".")[0] if isinstance(node, ast.alias) else item)
    if isinstance(statement, (*_Function, ast.ClassDef)):
        found.discard(None)
    return found


def _binds(node: ast.AST, name: str) -> bool:
    return any(
        isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load) for n in nodes.walk(node)
    )


def is_located(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether the position of a node is exact; inside an f-string it is not before Python 3.12."""
    while not isinstance(node, (ast.stmt, ast.JoinedStr)):
        node = parents[node]
    return not isinstance(node, ast.JoinedStr)
