"""Data flow inside a scope: which reads of a variable see which assignment, and where values escape."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from torchmigrate.semantics import node_walks
from torchmigrate.semantics.parent_nodes import ParentMap
from torchmigrate.semantics.reaching_bindings import (
    COMPREHENSIONS,
    DEFERRED,
    FUNCTIONS,
    ReachingBindings,
    State,
)
from torchmigrate.semantics.scope_builder import ModuleScopes
from torchmigrate.semantics.scopes import Scope

_Wholes = (ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Starred, ast.IfExp, ast.BoolOp)

RETURNED = "is returned, and the callers of this function are not analyzed"
"""The message of a `ValueEscapes` to the callers of the function."""


IsAlike = Callable[[ast.expr], bool]


class ValueEscapes(Exception):
    """A value goes where it cannot be followed; the message completes a sentence that begins "the result"."""


class DataFlow:
    """Follows values through the scopes of one file."""

    def __init__(self, scopes: ModuleScopes) -> None:
        self._scopes = scopes
        self._reaching: dict[tuple[Scope, str], ReachingBindings] = {}
        self._naming: dict[Scope, dict[str | None, list[int]]] = {}

    @cached_property
    def parents(self) -> ParentMap:
        """The parent of every node of the file."""
        tree = self._scopes.module.node
        assert isinstance(tree, ast.Module)
        return ParentMap(tree)

    def find_reaching(self, name: str, scope: Scope) -> ReachingBindings:
        """Return the reads of a variable of ``scope``, with the bindings that reach each of them."""
        key = (scope, name)
        if key not in self._reaching:
            reaching = self._reaching[key] = ReachingBindings(name)
            reaching.run_block(self._relevant_statements(name, scope), frozenset({scope.node}))
        return self._reaching[key]

    def _relevant_statements(self, name: str, scope: Scope) -> list[ast.stmt]:
        """Return the statements of a scope that name a variable or may leave the scope."""
        if scope not in self._naming:
            index: dict[str | None, list[int]] = {None: []}
            for number, statement in enumerate(scope.node.body):
                for named in _collect_names(statement):
                    index.setdefault(named, []).append(number)
            self._naming[scope] = index
        index = self._naming[scope]
        return [scope.node.body[number] for number in sorted({*index[None], *index.get(name, ())})]

    def find_definition(self, read: ast.Name, scope: Scope) -> ast.expr | None:
        """Return the expression that was certainly assigned to a variable where it is read; None if that is unclear."""
        owner = scope.find_scope(read.id)
        if owner is None or all(binding.value is None for binding in owner.bindings[read.id]):
            return None
        reaching = self.find_reaching(read.id, owner)
        state = reaching.reads.get(read)
        if state is None and read in reaching.captured and len(reaching.bindings) == 1:
            state = frozenset(reaching.bindings)
        if state is None or len(state) != 1 or reaching.unclear:
            return None
        return self._find_assigned(next(iter(state)))

    def find_value_places(
        self, value: ast.expr, scope: Scope, is_alike: IsAlike | None = None
    ) -> Iterator[ast.expr]:
        """Yield every expression with the value of ``value``: itself where it is used at once, or the reads of the
        variable that it is assigned to.

        Other values ``is_alike`` accepts there as well. Raises `ValueEscapes` where some of the places cannot be known.
        """
        parent = self.parents.get(value)
        assigned = isinstance(parent, (ast.Assign, ast.AnnAssign)) and parent.value is value
        target = _find_sole_target(parent) if assigned else None  # type: ignore[arg-type]
        if isinstance(target, ast.Name):
            yield from self.find_reads(target, scope, is_alike)
        else:
            yield value

    def find_reads(
        self, target: ast.Name, scope: Scope, is_alike: IsAlike | None = None
    ) -> Iterator[ast.expr]:
        """Yield the expressions that read the value bound to ``target``. Raises `ValueEscapes` where they may read another
        value, except None and those that ``is_alike`` accepts."""
        if target.id in scope.outer or scope.is_class:
            raise ValueEscapes(f"is kept in `{target.id}`, which other functions can change")
        reaching = self.find_reaching(target.id, scope)
        captured = {read: reaching.find_captured_bindings(read) for read in reaching.captured}
        if reaching.unclear or not all(self._is_sole(target, state, scope) for state in captured.values()):
            raise ValueEscapes(f"is kept in `{target.id}`, which is bound in more than one way")
        for read, state in reaching.reads.items():
            if target in state:
                if not self._is_sole(target, state, scope, is_alike):
                    raise ValueEscapes(self._describe_ambiguity(target, read, reaching))
                yield from self.find_value_places(read, scope, is_alike)
        yield from (read for read, state in captured.items() if target in state)

    def _is_sole(self, target: ast.Name, state: State, scope: Scope, is_alike: IsAlike | None = None) -> bool:
        """Return whether a binding is not in a state, or the only one there that gives another value than those alike."""
        others = state - {target} if target in state else ()
        return all(
            self._is_none(other, target.id, scope)
            or (
                is_alike is not None and (value := self._find_assigned(other)) is not None and is_alike(value)
            )
            for other in others
        )

    def _find_assigned(self, binding: ast.AST) -> ast.expr | None:
        """Return what a statement assigns to the variable of a binding alone."""
        parent = self.parents.get(binding)
        is_sole = isinstance(parent, (ast.Assign, ast.AnnAssign)) and _find_sole_target(parent) is binding
        return parent.value if is_sole and isinstance(parent, (ast.Assign, ast.AnnAssign)) else None

    def _describe_ambiguity(self, target: ast.Name, read: ast.Name, reaching: ReachingBindings) -> str:
        """Return the message for a value that is not the only one a read may see; being returned comes first."""
        reads = (other for other, state in reaching.reads.items() if target in state)
        if any(returns_value(other, self.parents) for other in reads):
            return RETURNED
        others = sorted(o.lineno for o in reaching.reads[read] if isinstance(o, ast.expr) and o is not target)
        more = f", which may also come from line {others[0]}" if others else ""
        return f"is not the only possible value of `{target.id}` on line {read.lineno}{more}"

    def _is_none(self, binding: ast.AST, name: str, scope: Scope) -> bool:
        """Return whether a binding gives no value: ``x = None``, or nothing yet."""
        if binding is scope.node:
            return not any(isinstance(other.node, ast.arg) for other in scope.bindings[name])
        parent = self.parents.get(binding)
        value = parent.value if isinstance(parent, (ast.Assign, ast.AnnAssign)) else None
        return isinstance(value, ast.Constant) and value.value is None

    def is_repeated(self, node: ast.AST, origin: ast.AST) -> bool:
        """Return whether ``node`` may run more often than ``origin``: in a loop, comprehension or function that does not
        contain ``origin``."""
        around = set(self._enclosing_nodes(origin))
        return any(
            isinstance(parent, (ast.For, ast.AsyncFor, ast.While, *DEFERRED, *COMPREHENSIONS))
            for parent in self._enclosing_nodes(node)
            if parent not in around
        )

    def _enclosing_nodes(self, node: ast.AST) -> Iterator[ast.AST]:
        parent = self.parents.get(node)
        while parent is not None:
            yield parent
            parent = self.parents.get(parent)


def returns_value(place: ast.expr, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Return whether a scope returns the value of an expression, by itself or as a part of another value."""
    part, parent = place, parents.get(place)
    while isinstance(parent, _Wholes) and getattr(parent, "test", None) is not part:
        part, parent = parent, parents.get(parent)
    return isinstance(parent, (ast.Return, ast.Yield))


def _find_sole_target(statement: ast.Assign | ast.AnnAssign) -> ast.AST | None:
    if isinstance(statement, ast.AnnAssign):
        return statement.target
    return statement.targets[0] if len(statement.targets) == 1 else None


class _NameFields(dict[type, tuple[str, ...]]):
    """The fields of each class of nodes with the names that it binds or reads."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        named = ("id", "arg", "name", "asname", "names", "rest")
        self[kind] = tuple(field for field in kind._fields if field in named)
        return self[kind]


_naming = _NameFields()


def _collect_names(statement: ast.stmt) -> set[str | None]:
    """Return every name that a statement binds or reads, and None for what may leave the scope or a loop."""
    found: set[str | None] = set()
    for node in node_walks.walk_nodes(statement):
        if isinstance(node, (ast.Return, ast.Raise, ast.Break, ast.Continue)):
            found.add(None)
        for field_name in _naming[type(node)]:
            value = getattr(node, field_name, None)
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, str):
                    found.add(item.partition(".")[0] if isinstance(node, ast.alias) else item)
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        found.discard(None)
    return found


def has_exact_position(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Return whether the position of a node is exact; inside an f-string it is not before Python 3.12."""
    while not isinstance(node, (ast.stmt, ast.JoinedStr)):
        node = parents[node]
    return not isinstance(node, ast.JoinedStr)
