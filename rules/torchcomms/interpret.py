# ruff: noqa: N802 (handlers are named after the nodes of the syntax tree)
"""Runs a function of a file for one rank of a small world, and records what it sends, receives and waits for.

Ranks, peers, lists of requests and conditions on them are followed by value; everything else (tensors above all) is
`Opaque`. A condition that is opaque is the same on every rank, and both its outcomes are tried; where it decides the
order of sends and receives, or may differ from rank to rank, the code is not understood: `Unclear`.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from torchmigrate.names import leaf

from .schedule import Channels, Group, Operation, Trace, Transfer, Wait

if TYPE_CHECKING:
    from torchmigrate.scopes import Scope
    from torchmigrate.uses import Uses

    from .syntax import Syntax

WORLD = Group("world")
SINGLE = frozenset({"isend", "irecv", "send", "recv"})
COLLECTIVES = frozenset(
    [
        *("all_reduce", "all_gather", "all_gather_into_tensor", "all_gather_object", "all_to_all"),
        *("all_to_all_single", "barrier", "broadcast", "broadcast_object_list", "gather", "reduce"),
        *("reduce_scatter", "reduce_scatter_tensor", "scatter"),
    ]
)
RELEVANT = SINGLE | {"batch_isend_irecv", "P2POp", "wait"}
"""Names that, called, may matter; statements without them (and without calls of helpers that have them) are skipped."""


class Unclear(Exception):
    """The code is not understood."""


class Raised(Exception):
    """The program ends with an exception."""


class _Return(Exception):
    def __init__(self, value: Any) -> None:
        self.value = value


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


@dataclass(frozen=True)
class Opaque:
    """A value that is not followed. Equal keys stand for equal values, on every rank."""

    key: str


@dataclass(frozen=True)
class Torch:
    """Something of torch's, by its qualified name."""

    name: str


@dataclass(frozen=True)
class Request:
    """What isend, irecv and asynchronous collectives return."""

    operation: Operation


@dataclass(frozen=True)
class PeerOperation:
    """A `P2POp`."""

    transfer: Transfer
    group: Group


@dataclass(eq=False)
class Instance:
    """An object of a class of the file."""

    definition: ast.ClassDef
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """A function of the file, and the object that it belongs to."""

    definition: ast.FunctionDef | ast.AsyncFunctionDef
    instance: Instance | None = None


class Guess(int):
    """A neighbour's rank that only its name tells."""


@dataclass
class World:
    """What all ranks of one run share.

    ``choices`` are the outcomes of opaque conditions; those not in it are added as they come up. ``ends`` is what a
    neighbour is called where there is none (in a ring, which has no ends, it does not occur).
    """

    size: int
    choices: dict[str, bool] = field(default_factory=dict)
    is_ring: bool = True
    end: int | None = None


class NotARing(Exception):
    """A guessed neighbour is compared with ``value``, which stands for there being none."""

    def __init__(self, value: int | None) -> None:
        self.value = value


_RANK = re.compile(
    r"^(?:my|global|local|world|cur|current|self|cp|sp|pp|dp|tp|ring|group|node)?_?rank$|^rank_id$"
)
_SIZE = re.compile(
    r"^(?:(?:cp|sp|pp|dp|tp|ring|group)_)?(?:world_)?size$|^(?:n|num)_?(?:ranks|procs|gpus)$|^n_?procs$|^world$"
)
_NEXT = re.compile(
    r"(?:^|_)(?:next|right|successor|dst|dest|destination|send_to|send_rank|to_rank|down)(?:_|$)"
)
_PREVIOUS = re.compile(
    r"(?:^|_)(?:prev|previous|left|predecessor|src|source|recv_from|recv_rank|from_rank|up)(?:_|$)"
)
_DIFFERS = re.compile(
    r"first|last|even|odd|parity|send|recv|receive|src|dst|source|leader|master|main|head|tail|root|stage"
    r"|rank|neighbo|has_|prev|next|left|right|top|bottom|left|edge|bound|owner|coord|peer|member",
    re.IGNORECASE,
)
"""Names in conditions that tell ranks apart."""

_BINARY: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_COMPARE: Mapping[type, Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_BUILTINS: Mapping[str, Callable[..., Any]] = {
    **{f.__name__: f for f in (abs, bool, divmod, int, len, max, min, sum)},
    "range": lambda *a: list(range(*a))[:64],
    "reversed": lambda a: list(reversed(a)),
    "sorted": sorted,
    "enumerate": lambda *a: list(enumerate(*a)),
    "list": lambda *a: list(*a),
    "tuple": lambda *a: tuple(*a),
    "dict": lambda **a: a,
    "set": lambda *a: list(*a),
}
_PLAIN = (int, str, bool, float, type(None), list, tuple, dict)


UNKNOWN = object()
_EACH = "each of "
"""What the key of a loop variable begins with whose values are not followed."""


def guess(name: str, rank: int, world: World) -> Any:
    """What a parameter or an attribute of this name probably is; UNKNOWN if the name says nothing."""
    if _RANK.search(name):
        return rank
    if _SIZE.search(name):
        return world.size
    for pattern, step in ((_NEXT, 1), (_PREVIOUS, -1)):
        if pattern.search(name):
            peer = rank + step
            if world.is_ring:
                return Guess(peer % world.size)
            return Guess(peer) if 0 <= peer < world.size else world.end
    return list(range(world.size)) if name in ("ranks", "group_ranks", "global_ranks") else UNKNOWN


class Interpreter:
    """Executes code of one file for one rank; `trace` is what came of it. Raises Unclear, Raised, NotARing."""

    def __init__(
        self,
        uses: Uses,
        relevant: frozenset[str],
        syntax: Syntax,
        world: World,
        rank: int,
    ) -> None:
        self.uses = uses
        self.syntax = syntax
        self.relevant = relevant | RELEVANT
        self.world = world
        self.rank = rank
        self.trace: Trace = []
        self._partner: str | None = None
        self._scopes: dict[ast.AST, Scope] = {scope.node: scope for scope in uses.scopes.all}
        self._scope = uses.scopes.module
        self._names: dict[str, Any] = {}
        self._globals: dict[str, Any] = {}
        self._world_group = WORLD
        self._depth = 0
        self.steps = 0

    # Roots.

    def run_module(self) -> None:
        """Executes the module's own statements."""
        self._globals = self._names
        try:
            self._block(self.uses.scopes.module.node.body)
        except _Return:
            raise Unclear from None

    def run_function(
        self, definition: ast.FunctionDef | ast.AsyncFunctionDef, owner: ast.ClassDef | None
    ) -> None:
        """Executes a function with arguments of which only the names are known."""
        instance = None
        if owner is not None:
            instance = Instance(owner)
            init = _method(owner, "__init__")
            if init is not None and init is not definition:
                before = len(self.trace)
                try:
                    self._call_method(Method(init, instance), [], {}, guessing=True)
                except (Unclear, Raised):
                    instance.attributes.clear()
                del self.trace[before:]
        self._call_method(Method(definition, instance), [], {}, guessing=True)

    # Statements.

    def _block(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self.steps += 1
            if self.steps > 4000:
                raise Unclear
            handler = getattr(self, "_do_" + type(statement).__name__, None)
            if handler is not None:
                handler(statement)
            elif self._is_relevant(statement):
                raise Unclear

    def _is_relevant(self, node: ast.AST) -> bool:
        return not self.relevant.isdisjoint(self.syntax.called(node))

    def _do_FunctionDef(self, statement: ast.FunctionDef) -> None:
        self._names[statement.name] = Method(statement)

    def _do_ClassDef(self, statement: ast.ClassDef) -> None:
        self._names[statement.name] = statement

    def _do_Expr(self, statement: ast.Expr) -> None:
        self.value(statement.value)

    def _do_Return(self, statement: ast.Return) -> None:
        raise _Return(self.value(statement.value) if statement.value else None)

    def _do_Raise(self, statement: ast.Raise) -> None:
        raise Raised

    def _do_Break(self, statement: ast.Break) -> None:
        raise _Break

    def _do_Continue(self, statement: ast.Continue) -> None:
        raise _Continue

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

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._names[target.id] = value
        elif isinstance(target, ast.Attribute):
            owner = self.value(target.value)
            if isinstance(owner, Instance):
                owner.attributes[target.attr] = value
        elif isinstance(target, ast.Subscript):
            holder: Any = self.value(target.value)
            key: Any = self.value(target.slice)
            in_dict = isinstance(holder, dict) and isinstance(key, (int, str))
            in_list = isinstance(holder, list) and isinstance(key, int) and -len(holder) <= key < len(holder)
            if in_dict or in_list:
                holder[key] = value
            elif _holds_request(value):
                raise Unclear
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = value if isinstance(value, (list, tuple)) and len(value) == len(target.elts) else None
            for index, element in enumerate(target.elts):
                self._assign(
                    element, parts[index] if parts is not None else Opaque(self.syntax.text(element))
                )

    def _do_If(self, statement: ast.If) -> None:
        truth = self._truth(self.value(statement.test))
        if truth is not None:
            self._block(statement.body if truth else statement.orelse)
            return
        self._fork(statement.test, statement.body, statement.orelse)

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
        if any(single) and _DIFFERS.search(self.syntax.text(test)):
            raise Unclear
        self._block(body if self._choose(test, not any(map(self.syntax.leaves, body))) else orelse)

    def _choose(self, test: ast.expr, first: bool = True) -> bool:
        return self.world.choices.setdefault(self.syntax.text(test), first)

    def _do_For(self, statement: ast.For) -> None:
        items = self.value(statement.iter)
        if not isinstance(items, (list, tuple, dict)):
            items = [Opaque(f"{_EACH}{self.syntax.text(statement.iter)}")]
            if not self._is_relevant(statement):
                for name in self.syntax.assigned(statement):
                    self._names[name] = Opaque(name)
                return
        self._loop((partial(self._assign, statement.target, item) for item in list(items)), statement.body)
        self._block(statement.orelse)

    def _do_While(self, statement: ast.While) -> None:
        def rounds() -> Iterable[Callable[[], None]]:
            for count in range(64):
                truth = self._truth(self.value(statement.test))
                if truth is False or (count and truth is None) or (count == 2 and _is_true(statement.test)):
                    return
                yield _nothing

        if self._is_relevant(statement):
            self._loop(rounds(), statement.body)

    def _loop(self, rounds: Iterable[Callable[[], None]], body: list[ast.stmt]) -> None:
        for begin in rounds:
            begin()
            try:
                self._block(body)
            except _Break:
                return
            except _Continue:
                continue

    def _do_With(self, statement: ast.With) -> None:
        for item in statement.items:
            value = self.value(item.context_expr)
            if item.optional_vars is not None:
                self._assign(item.optional_vars, value if isinstance(value, Instance) else Opaque("with"))
        self._block(statement.body)

    def _do_Try(self, statement: ast.Try) -> None:
        if any(self._is_relevant(handler) for handler in statement.handlers):
            raise Unclear
        self._block(statement.body)
        self._block(statement.orelse)
        self._block(statement.finalbody)

    # Expressions.

    def value(self, node: ast.expr) -> Any:
        """What an expression evaluates to; its calls are executed."""
        handler = getattr(self, "_value_" + type(node).__name__, None)
        if handler is not None:
            return handler(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.value(child)
        return Opaque(self.syntax.text(node))

    def _value_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def _value_NamedExpr(self, node: ast.NamedExpr) -> Any:
        value = self.value(node.value)
        self._assign(node.target, value)
        return value

    def _value_List(self, node: ast.List) -> Any:
        found: list[Any] = []
        for element in node.elts:
            if isinstance(element, ast.Starred):
                inner = self.value(element.value)
                found.extend(inner if isinstance(inner, (list, tuple)) else [inner])
            else:
                found.append(self.value(element))
        return found

    def _value_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.value(element) for element in node.elts)

    def _value_Set(self, node: ast.Set) -> Any:
        return [self.value(element) for element in node.elts]

    def _value_Dict(self, node: ast.Dict) -> Any:
        keys = [self.value(key) if key is not None else Opaque("**") for key in node.keys]
        values = [self.value(value) for value in node.values]
        plain = [isinstance(key, (int, str)) for key in keys]
        return dict(zip(keys, values, strict=True)) if all(plain) else Opaque(self.syntax.text(node))

    def _value_Name(self, node: ast.Name) -> Any:
        if node.id in self._names:
            return self._names[node.id]
        if node.id in self._globals:
            return self._globals[node.id]
        known = self._torch(node)
        if known is not None:
            return known
        self._globals[node.id] = Opaque(node.id)
        self._globals[node.id] = value = self._global(node.id)
        return value

    def _torch(self, node: ast.expr) -> Torch | None:
        resolved = self.uses.names.resolve(node, self._scope)
        name = resolved.names[0] if resolved is not None and len(resolved.names) == 1 else ""
        return Torch(name) if name.partition(".")[0] in ("torch", "os") and "()" not in name else None

    def _global(self, name: str) -> Any:
        bindings = self.uses.scopes.module.bindings.get(name, [])
        if len(bindings) == 1:
            node = bindings[0].node
            if isinstance(node, ast.ClassDef):
                return node
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return Method(node)
            if bindings[0].value is not None and not self._is_relevant(bindings[0].value):
                return self.value(bindings[0].value)
        guessed = guess(name, self.rank, self.world)
        return Opaque(name) if guessed is UNKNOWN else guessed

    def _value_Attribute(self, node: ast.Attribute) -> Any:
        known = None if self._is_local(node) else self._torch(node)
        if known is not None:
            return known
        return self._attribute(self.value(node.value), node)

    def _attribute(self, owner: Any, node: ast.Attribute) -> Any:
        if isinstance(owner, Instance):
            if node.attr in owner.attributes:
                return owner.attributes[node.attr]
            method = _method(owner.definition, node.attr)
            if method is not None:
                return self._bound(method, owner)
        guessed = guess(node.attr, self.rank, self.world)
        return Opaque(self.syntax.text(node)) if guessed is UNKNOWN else guessed

    def _is_local(self, node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return (
            isinstance(node, ast.Name)
            and node.id in self._names
            and not isinstance(self._names[node.id], Torch)
        )

    def _bound(self, method: ast.FunctionDef | ast.AsyncFunctionDef, owner: Instance) -> Any:
        decorators = {leaf(decorator) for decorator in method.decorator_list}
        if decorators & {"property", "cached_property"}:
            return self._call_method(Method(method, owner), [], {})
        return Method(method) if "staticmethod" in decorators else Method(method, owner)

    def _value_Subscript(self, node: ast.Subscript) -> Any:
        owner, key = self.value(node.value), self.value(node.slice)
        if isinstance(owner, Torch) and owner.name == "os.environ":
            return self._environment(key)
        if isinstance(owner, (list, tuple)) and isinstance(key, int) and -len(owner) <= key < len(owner):
            return owner[key]
        if isinstance(owner, dict) and isinstance(key, (int, str)) and key in owner:
            return owner[key]
        if _holds_request(owner) and isinstance(node.slice, ast.Slice):
            raise Unclear
        return Opaque(
            f"{self.syntax.text(node.value)}[{key!r}]"
            if isinstance(key, (int, str))
            else self.syntax.text(node)
        )

    def _environment(self, name: Any) -> Any:
        known = {"RANK": self.rank, "LOCAL_RANK": self.rank, "WORLD_SIZE": self.world.size}
        return str(known[name]) if name in known else Opaque(f"environ {name}")

    def _value_IfExp(self, node: ast.IfExp) -> Any:
        truth = self._truth(self.value(node.test))
        if truth is not None:
            return self.value(node.body if truth else node.orelse)
        if any(map(self._is_relevant, (node.body, node.orelse))):
            raise Unclear
        values = [self.value(node.body), self.value(node.orelse)]
        return values[0] if self._choose(node.test) else values[1]

    def _value_BoolOp(self, node: ast.BoolOp) -> Any:
        is_and = isinstance(node.op, ast.And)
        unknown = False
        value: Any = None
        for part in node.values:
            value = self.value(part)
            truth = self._truth(value)
            if truth is None:
                unknown = True
            elif truth is not is_and:
                return value
        return Opaque(self.syntax.text(node)) if unknown else value

    def _value_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        if isinstance(node.op, ast.Not):
            truth = self._truth(value)
            return Opaque(self.syntax.text(node)) if truth is None else not truth
        if isinstance(node.op, ast.USub) and isinstance(value, (int, float)):
            return -value
        return Opaque(self.syntax.text(node))

    def _value_BinOp(self, node: ast.BinOp) -> Any:
        return self._binary(node.op, self.value(node.left), self.value(node.right), node)

    def _binary(self, kind: ast.operator, left: Any, right: Any, node: ast.AST) -> Any:
        if isinstance(left, _PLAIN) and isinstance(right, _PLAIN) and type(kind) in _BINARY:
            try:
                return _BINARY[type(kind)](left, right)
            except (TypeError, ValueError, ZeroDivisionError, OverflowError):
                return Opaque(self.syntax.text(node))
        return Opaque(self.syntax.text(node))

    def _value_Compare(self, node: ast.Compare) -> Any:
        left = self.value(node.left)
        for kind, side in zip(node.ops, node.comparators, strict=True):
            right = self.value(side)
            self._look_for_ends(left, right)
            truth = self._compare(kind, left, right)
            if truth is None:
                return Opaque(self.syntax.text(node))
            if not truth:
                return False
            left = right
        return True

    def _look_for_ends(self, left: Any, right: Any) -> None:
        for one, other in ((left, right), (right, left)):
            ends = other is None or (type(other) is int and other in (-1, 0, self.world.size))
            if isinstance(one, Guess) and self.world.is_ring and ends:
                raise NotARing(-1 if other == 0 else other)

    def _compare(self, kind: ast.cmpop, left: Any, right: Any) -> bool | None:
        if any(isinstance(side, Opaque) for side in (left, right)):
            if isinstance(kind, (ast.Eq, ast.Is)) and left == right:
                return True
            return self._skips_itself(kind, left, right)
        try:
            return bool(_COMPARE[type(kind)](left, right))
        except TypeError:
            return None

    def _skips_itself(self, kind: ast.cmpop, left: Any, right: Any) -> bool | None:
        """``for peer in neighbours: if peer != rank`` is about the one round that does not matter."""
        each = any(isinstance(side, Opaque) and side.key.startswith(_EACH) for side in (left, right))
        if each and self.rank in (left, right) and isinstance(kind, (ast.Eq, ast.NotEq)):
            return isinstance(kind, ast.NotEq)
        return None

    def _truth(self, value: Any) -> bool | None:
        if isinstance(value, Opaque):
            return None
        if isinstance(value, Guess) and self.world.is_ring:
            raise NotARing(None)
        return bool(value) if isinstance(value, _PLAIN) else True

    def _value_ListComp(self, node: ast.ListComp | ast.GeneratorExp) -> Any:
        return [value for (value,) in self._comprehension(node.generators, (node.elt,))]

    _value_GeneratorExp = _value_SetComp = _value_ListComp  # noqa: N815

    def _value_DictComp(self, node: ast.DictComp) -> Any:
        pairs = self._comprehension(node.generators, (node.key, node.value))
        return {key if isinstance(key, (int, str)) else str(key): value for key, value in pairs}

    def _comprehension(
        self, generators: list[ast.comprehension], elements: tuple[ast.expr, ...]
    ) -> list[Any]:
        if not generators:
            return [tuple(self.value(element) for element in elements)]
        first, *rest = generators
        items = self.value(first.iter)
        if not isinstance(items, (list, tuple, dict)):
            items = [Opaque(f"{_EACH}{self.syntax.text(first.iter)}")]
        found: list[Any] = []
        kept = dict(self._names)
        for item in items:
            self._assign(first.target, item)
            if all(self._truth(self.value(test)) is not False for test in first.ifs):
                found += self._comprehension(rest, elements)
        self._names = {**self._names, **kept}
        return found

    # Calls.

    def _value_Call(self, node: ast.Call) -> Any:
        known = None if self._is_local(node.func) else self._torch(node.func)
        if known is not None:
            return self._call_torch(known.name, node)
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value)
            if isinstance(owner, (Request, list, dict, Group)):
                return self._call_plain(owner, node.func.attr, node)
            function = self._attribute(owner, node.func)
        else:
            function = self.value(node.func)
        if isinstance(function, Torch):
            return self._call_torch(function.name, node)
        arguments = [self.value(a.value if isinstance(a, ast.Starred) else a) for a in node.args]
        keywords = {keyword.arg or "**": self.value(keyword.value) for keyword in node.keywords}
        starred = "**" in keywords or any(isinstance(a, ast.Starred) for a in node.args)
        if isinstance(function, Method) and not starred:
            return self._call_method(function, arguments, keywords)
        if isinstance(function, ast.ClassDef):
            instance = Instance(function)
            init = _method(function, "__init__")
            if init is not None and not starred:
                self._call_method(Method(init, instance), arguments, keywords)
            return instance
        if isinstance(function, (Method, Instance)) and self._contains_relevant(function):
            raise Unclear
        if isinstance(node.func, ast.Name) and node.func.id not in self._names:
            return self._call_builtin(node.func.id, arguments, keywords, node)
        guessed = guess(leaf(node.func) or "", self.rank, self.world) if not arguments else UNKNOWN
        return Opaque(self.syntax.text(node)) if guessed is UNKNOWN else guessed

    def _contains_relevant(self, function: Method | Instance) -> bool:
        return not {*SINGLE, "batch_isend_irecv"}.isdisjoint(self.syntax.called(function.definition))

    def _call_builtin(self, name: str, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        if name == "zip" and any(isinstance(a, (list, tuple)) for a in arguments):
            length = min(len(a) for a in arguments if isinstance(a, (list, tuple)))
            columns = [a if isinstance(a, (list, tuple)) else [Opaque("item")] * length for a in arguments]
            return list(zip(*columns, strict=False))
        if name == "super":
            return Opaque("super")
        function = _BUILTINS.get(name)
        if function is not None and all(isinstance(a, _PLAIN) for a in arguments):
            try:
                return function(*arguments, **keywords)
            except (TypeError, ValueError):
                return Opaque(self.syntax.text(node))
        guessed = guess(name, self.rank, self.world)
        return Opaque(self.syntax.text(node)) if guessed is UNKNOWN else guessed

    def _call_method(
        self, method: Method, arguments: list[Any], keywords: dict[str, Any], guessing: bool = False
    ) -> Any:
        definition = method.definition
        if self._depth > 8 or _is_generator(definition):
            if self._contains_relevant(method):
                raise Unclear
            return Opaque(definition.name)
        names = self._bind(method, arguments, keywords, guessing)
        outer, outer_scope = self._names, self._scope
        self._names, self._depth = names, self._depth + 1
        self._scope = self._scopes.get(definition, outer_scope)
        try:
            self._block(definition.body)
        except _Return as result:
            return result.value
        finally:
            self._names, self._scope = outer, outer_scope
            self._depth -= 1
        return None

    def _bind(
        self, method: Method, arguments: list[Any], keywords: dict[str, Any], guessing: bool
    ) -> dict[str, Any]:
        """The names that a function begins with."""
        spec = method.definition.args
        positional = [a.arg for a in (*spec.posonlyargs, *spec.args)]
        if method.instance is not None and positional:
            arguments = [method.instance, *arguments]
        names = dict(zip(positional, arguments, strict=False))
        defaults = dict(zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True))
        defaults |= {
            a.arg: d for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None
        }
        for name in (*positional, *(a.arg for a in spec.kwonlyargs)):
            if name in names:
                continue
            if name in keywords:
                names[name] = keywords[name]
                continue
            default = defaults.get(name)
            flag = isinstance(default, ast.Constant) and default.value in (None, True, False)
            known = guess(name, self.rank, self.world) if guessing else UNKNOWN
            if known is not UNKNOWN:
                names[name] = known
            else:
                follow = default is not None and not (guessing and flag)
                names[name] = self.value(default) if follow and default is not None else Opaque(name)
        for star in (spec.vararg, spec.kwarg):
            if star is not None:
                names[star.arg] = Opaque(star.arg)
        return names

    def _call_plain(self, owner: Any, name: str, node: ast.Call) -> Any:
        arguments = [self.value(argument) for argument in node.args]
        if isinstance(owner, Request):
            if name == "wait":
                self.trace.append(Wait(owner.operation))
                return True
            if name == "is_completed":
                raise Unclear
        if isinstance(owner, list):
            try:
                if name in ("append", "extend", "pop", "clear", "insert", "reverse", "copy", "remove"):
                    return getattr(owner, name)(*arguments)
            except (TypeError, ValueError, IndexError):
                raise Unclear from None
        if isinstance(owner, dict) and name in ("values", "keys", "items", "pop", "get"):
            try:
                result = getattr(owner, name)(*arguments)
            except (KeyError, TypeError):
                raise Unclear from None
            return list(result) if name in ("values", "keys", "items") else result
        if isinstance(owner, Group) and name in ("rank", "size"):
            return self.rank if name == "rank" else self.world.size
        return Opaque(self.syntax.text(node))

    def _call_torch(self, name: str, node: ast.Call) -> Any:
        called = name.rpartition(".")[2]
        arguments = [self.value(argument) for argument in node.args if not isinstance(argument, ast.Starred)]
        keywords = {keyword.arg or "**": self.value(keyword.value) for keyword in node.keywords}
        if name in ("os.environ.get", "os.getenv") and arguments:
            return self._environment(arguments[0])
        if not name.startswith("torch.distributed"):
            return Opaque(self.syntax.text(node))
        if called in SINGLE:
            return self._single(called, arguments, keywords, node)
        if called in COLLECTIVES:
            group = self._group(keywords.get("group"), node)
            operation = Operation(self.rank, group, node, collective=called)
            self.trace.append(operation)
            if keywords.get("async_op") is True:
                return Request(operation)
            self.trace.append(Wait(operation))
            return None
        if called in ("get_rank", "get_node_local_rank"):
            return self.rank
        if called == "get_world_size":
            return self.world.size
        if called in ("get_global_rank", "get_group_rank") and len(arguments) == 2:
            return arguments[1]
        if called == "get_process_group_ranks":
            return list(range(self.world.size))
        if called == "get_backend":
            return "nccl"
        if called in ("is_initialized", "is_available", "is_nccl_available"):
            return True
        if called == "P2POp":
            return self._peer_operation(arguments, keywords, node)
        if called == "batch_isend_irecv" and arguments:
            return self._batch(arguments[0], node)
        if called == "init_process_group":
            backend = arguments[0] if arguments else keywords.get("backend")
            self._world_group = Group("world", _channels(backend))
            return None
        if called == "new_group":
            backend = arguments[2] if len(arguments) > 2 else keywords.get("backend")
            count = sum(isinstance(key, str) and key.startswith("new ") for key in self._globals)
            key = f"new {node.lineno} {count}"
            self._globals[key] = None
            return Group(key, _channels(backend) if backend is not None else self._world_group.channels)
        return Opaque(self.syntax.text(node))

    def _group(self, value: Any, node: ast.AST) -> Group:
        if value is None:
            return self._world_group
        if isinstance(value, Group):
            return value
        if isinstance(value, Opaque):
            return Group(value.key, Channels.DIRECTION if _is_cpu(value.key) else None)
        if isinstance(value, Torch):
            return self._world_group
        raise Unclear

    def _peer(self, value: Any) -> int:
        if isinstance(value, int) and not isinstance(value, bool):
            return int(value)
        if isinstance(value, Opaque) and self._partner in (None, value.key):
            self._partner = value.key
            return self.rank ^ 1
        raise Unclear

    def _single(self, called: str, arguments: list[Any], keywords: dict[str, Any], node: ast.Call) -> Any:
        names = ("dst", "group_dst") if "send" in called else ("src", "group_src")
        found = [arguments[1]] if len(arguments) > 1 else []
        found += [keywords[name] for name in names if keywords.get(name) is not None]
        if len(found) != 1 or "**" in keywords or any(isinstance(a, ast.Starred) for a in node.args):
            raise Unclear
        group = self._group(arguments[2] if len(arguments) > 2 else keywords.get("group"), node)
        transfer = Transfer("send" in called, self._peer(found[0]), node)
        operation = Operation(self.rank, group, node, (transfer,))
        self.trace.append(operation)
        if called.startswith("i"):
            return Request(operation)
        self.trace.append(Wait(operation))
        return None

    def _peer_operation(
        self, arguments: list[Any], keywords: dict[str, Any], node: ast.Call
    ) -> PeerOperation:
        op = arguments[0] if arguments else keywords.get("op")
        called = op.name.rpartition(".")[2] if isinstance(op, Torch) else ""
        peer = arguments[2] if len(arguments) > 2 else keywords.get("peer", keywords.get("group_peer"))
        if called not in ("isend", "irecv"):
            raise Unclear
        group = self._group(arguments[3] if len(arguments) > 3 else keywords.get("group"), node)
        return PeerOperation(Transfer(called == "isend", self._peer(peer), node), group)

    def _batch(self, operations: Any, node: ast.Call) -> Any:
        if not isinstance(operations, (list, tuple)) or not operations:
            raise Unclear
        if not all(isinstance(operation, PeerOperation) for operation in operations):
            raise Unclear
        transfers = [operation.transfer for operation in operations]
        operation = Operation(self.rank, operations[0].group, node, transfers, batched=True)
        self.trace.append(operation)
        return [Request(operation)]


def _nothing() -> None:
    """What a round of a `while` loop begins with."""


def _channels(backend: Any) -> Channels | None:
    if not isinstance(backend, str) or "nccl" in backend:
        lazy = isinstance(backend, str) and ("nccl-lazy" in backend or "nccl-legacy" in backend)
        return Channels.PAIR if lazy else None
    return Channels.DIRECTION


def _is_cpu(name: str) -> bool:
    return bool(re.search(r"cpu|gloo|metadata|coordinat", name, re.IGNORECASE))


def _holds_request(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_holds_request, value))
    return isinstance(value, Request)


def _method(definition: ast.ClassDef, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    for statement in definition.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and statement.name == name:
            return statement
    return None


def _is_generator(definition: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)) for node in ast.walk(definition))


def _is_true(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and bool(test.value)
