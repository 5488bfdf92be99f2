# ruff: noqa: N802 (handlers are named after the nodes of the syntax tree)
"""The expressions of a program that is interpreted for one rank."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from .communicators import SimulatedGroup, Trace
from .followed_values import (
    BINARY_OPERATORS,
    COMPARISONS,
    EACH_PREFIX,
    PLAIN_TYPES,
    AssumedRank,
    BoundFunction,
    CpuTensor,
    FileObject,
    GuessedNeighbor,
    NotARing,
    Opaque,
    RankWorld,
    TorchName,
    UnclearCode,
    derive_value,
    guess_value,
    holds_request,
)
from .simulated_program import SimulatedProgram

_MAX_OPERAND = 4096


class ExpressionEvaluator:
    """Evaluates expressions, except for calls, for one rank that executes a program."""

    def __init__(self, program: SimulatedProgram, world: RankWorld, rank: int) -> None:
        self.program, self.world, self.rank = program, world, rank
        self.trace: Trace = []
        self.steps = 0
        self._scope = program.scopes.module
        self._names: dict[str, Any] = {}
        self._globals: dict[str, Any] = {}
        self._world_group = SimulatedGroup("world")
        self._group_count = 0
        self._has_partner = True
        """Whether an unknown peer may stand for the one partner of each rank."""
        self._partner: str | None = None
        self._is_assuming = False
        """Whether a variable that only its name shows to be a rank has decided what runs."""
        self._is_confirmed = False
        """Whether the program passes that variable to torch as its rank."""
        self._depth = 0

    def evaluate(self, node: ast.expr) -> Any:
        """Return the value of an expression; calls in it are executed."""
        handler = getattr(self, "_value_" + type(node).__name__, None)
        if handler is not None:
            return handler(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.evaluate(child)
        return self._make_opaque(node)

    def _make_opaque(self, node: ast.AST) -> Opaque:
        return Opaque(self.program.text(node))

    def _guess_name(self, name: str, node: ast.AST) -> Any:
        return guess_value(name, self.rank, self.world, self.program.text(node))

    def _value_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def _value_Starred(self, node: ast.Starred) -> Any:
        return self.evaluate(node.value)

    def _value_NamedExpr(self, node: ast.NamedExpr) -> Any:
        value = self.evaluate(node.value)
        self._assign_target(node.target, value)
        return value

    def _value_List(self, node: ast.List | ast.Tuple | ast.Set) -> Any:
        found: list[Any] = []
        for element in node.elts:
            value = self.evaluate(element)
            is_spread = isinstance(element, ast.Starred) and isinstance(value, (list, tuple))
            found.extend(value if is_spread else [value])
        return tuple(found) if isinstance(node, ast.Tuple) else found

    _value_Tuple = _value_Set = _value_List  # noqa: N815

    def _value_Dict(self, node: ast.Dict) -> Any:
        keys = [self.evaluate(key) if key is not None else Opaque("**") for key in node.keys]
        values = [self.evaluate(value) for value in node.values]
        is_plain = all(isinstance(key, (int, str)) for key in keys)
        return dict(zip(keys, values, strict=True)) if is_plain else self._make_opaque(node)

    def _value_Name(self, node: ast.Name) -> Any:
        for names in (self._names, self._globals):
            if node.id in names:
                return names[node.id]
        known = self.program.resolve_torch(node, self._scope)
        if known is not None:
            return known
        self._globals[node.id] = Opaque(node.id)  # a global may be defined by itself
        value = self._evaluate_global(node)
        del self._globals[node.id]
        if not isinstance(value, Opaque):  # builtins stay unbound
            self._globals[node.id] = value
        return value

    def _evaluate_global(self, node: ast.Name) -> Any:
        bindings = self.program.scopes.module.bindings.get(node.id, [])
        if len(bindings) == 1:
            definition, value = bindings[0].node, bindings[0].value
            if isinstance(definition, ast.ClassDef):
                return definition
            if isinstance(definition, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return BoundFunction(definition)
            if value is not None and not self.program.is_relevant(value):
                return self.evaluate(value)
        return self._guess_name(node.id, node)

    def _value_Subscript(self, node: ast.Subscript) -> Any:
        owner, key = self.evaluate(node.value), self.evaluate(node.slice)
        if isinstance(owner, TorchName) and owner.name == "os.environ":
            return self._read_environment(key)
        if isinstance(owner, (list, tuple, dict)) and isinstance(key, (int, str, slice)):
            try:
                return derive_value(owner[key], key)  # type: ignore[index]
            except (LookupError, TypeError):
                pass
        if holds_request(owner) and isinstance(node.slice, ast.Slice):
            raise UnclearCode
        text = f"{self.program.text(node.value)}[{key!r}]" if isinstance(key, (int, str)) else None
        return (CpuTensor if isinstance(owner, CpuTensor) else Opaque)(text or self.program.text(node))

    def _value_Slice(self, node: ast.Slice) -> Any:
        bounds = [
            self.evaluate(part) if part is not None else None for part in (node.lower, node.upper, node.step)
        ]
        is_known = all(bound is None or isinstance(bound, int) for bound in bounds)
        return slice(*bounds) if is_known else self._make_opaque(node)

    def _read_environment(self, name: Any) -> Any:
        known = {"RANK": self.rank, "LOCAL_RANK": self.rank, "WORLD_SIZE": self.world.size}
        return str(known[name]) if name in known else Opaque(f"environ {name}")

    def _value_IfExp(self, node: ast.IfExp) -> Any:
        test = self.evaluate(node.test)
        truth = self._decide_truth(test)
        if truth is None and any(map(self.program.is_relevant, (node.body, node.orelse))):
            raise UnclearCode
        is_body = self._choose_outcome(node.test) if truth is None else truth
        return derive_value(self.evaluate(node.body if is_body else node.orelse), test)

    def _value_BoolOp(self, node: ast.BoolOp) -> Any:
        is_known, value = True, None
        for part in node.values:
            value = derive_value(self.evaluate(part), value)
            truth = self._decide_truth(value)
            is_known = is_known and truth is not None
            if truth is not None and truth is not isinstance(node.op, ast.And):
                return value
        return value if is_known else self._make_opaque(node)

    def _value_UnaryOp(self, node: ast.UnaryOp) -> Any:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.Not) and (truth := self._decide_truth(value)) is not None:
            return derive_value(not truth, value)
        if isinstance(node.op, ast.USub) and isinstance(value, (int, float)):
            return derive_value(-value, value)
        return self._make_opaque(node)

    def _value_BinOp(self, node: ast.BinOp) -> Any:
        left, right = self.evaluate(node.left), self.evaluate(node.right)
        shifted = isinstance(node.left, ast.BinOp) and isinstance(node.left.op, (ast.Add, ast.Sub))
        if isinstance(right, Opaque) and isinstance(node.op, ast.Mod) and shifted:
            return self._evaluate_round(node, left)
        return self._apply_operator(node.op, left, right, node)

    def _evaluate_round(self, node: ast.BinOp, left: Any) -> Any:
        """Evaluate ``(rank + 1) % n``: the next rank in a ring, whatever the number of ranks is called."""
        if isinstance(left, Opaque) and isinstance(node.right, ast.Name):  # `(rank - 1 + n) % n`
            names = self._names
            self._names = {**names, node.right.id: AssumedRank(self.world.size)}
            left = self.evaluate(node.left)
            self._names = names
        return AssumedRank(left % self.world.size) if isinstance(left, int) else self._make_opaque(node)

    def _apply_operator(self, kind: ast.operator, left: Any, right: Any, node: ast.AST) -> Any:
        # `2 ** 10**9` or `[0] * 10**9` would take all memory.
        is_huge = any(isinstance(value, int) and abs(value) > _MAX_OPERAND for value in (left, right))
        if is_huge and isinstance(kind, (ast.Pow, ast.LShift, ast.Mult)):
            return self._make_opaque(node)
        if (
            isinstance(left, PLAIN_TYPES)
            and isinstance(right, PLAIN_TYPES)
            and type(kind) in BINARY_OPERATORS
        ):
            try:
                return derive_value(BINARY_OPERATORS[type(kind)](left, right), left, right)
            except (TypeError, ValueError, ZeroDivisionError, OverflowError):
                pass
        return self._make_opaque(node)

    def _value_Compare(self, node: ast.Compare) -> Any:
        sides = [self.evaluate(node.left)]
        for kind, operand in zip(node.ops, node.comparators, strict=True):
            sides.append(self.evaluate(operand))
            self._reject_missing_neighbor(*sides[-2:])
            truth = self._compare_values(kind, *sides[-2:])
            if not truth:
                return self._make_opaque(node) if truth is None else derive_value(False, *sides)
        return derive_value(True, *sides)

    def _reject_missing_neighbor(self, left: Any, right: Any) -> None:
        """Raise NotARing if a neighbor is compared with a value that means there is none."""
        for one, other in ((left, right), (right, left)):
            is_number = isinstance(other, int) and not isinstance(other, (bool, GuessedNeighbor))
            is_end = other is None or (is_number and other in (-1, 0, self.world.size))
            if isinstance(one, GuessedNeighbor) and self.world.is_ring and is_end:
                raise NotARing(-1 if other == 0 else other)

    def _compare_values(self, kind: ast.cmpop, left: Any, right: Any) -> bool | None:
        if isinstance(left, Opaque) or isinstance(right, Opaque):
            if isinstance(kind, (ast.Eq, ast.Is)) and left == right:
                return True
            # `for peer in neighbors: if peer != rank` is about the one round that does not matter.
            each = any(
                isinstance(side, Opaque) and side.key.startswith(EACH_PREFIX) for side in (left, right)
            )
            skips = each and self.rank in (left, right) and isinstance(kind, (ast.Eq, ast.NotEq))
            return isinstance(kind, ast.NotEq) if skips else None
        try:
            return bool(COMPARISONS[type(kind)](left, right))
        except TypeError:
            return None

    def _decide_truth(self, value: Any) -> bool | None:
        """Return whether a value is true; None where that is unknown."""
        if isinstance(value, Opaque):
            return None
        if isinstance(value, GuessedNeighbor) and self.world.is_ring:
            raise NotARing(None)
        return bool(value) if isinstance(value, PLAIN_TYPES) else True

    def _value_ListComp(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Any:
        return [value for (value,) in self._run_comprehension(node.generators, (node.elt,))]

    _value_GeneratorExp = _value_SetComp = _value_ListComp  # noqa: N815

    def _value_DictComp(self, node: ast.DictComp) -> Any:
        pairs = self._run_comprehension(node.generators, (node.key, node.value))
        return {key if isinstance(key, (int, str)) else str(key): value for key, value in pairs}

    def _list_items(self, node: ast.expr) -> list[Any]:
        """Return the items of an iterable; if the items are not followed, one that stands for all."""
        items = self.evaluate(node)
        is_known = isinstance(items, (list, tuple, dict))
        return list(items) if is_known else [Opaque(EACH_PREFIX + self.program.text(node))]

    def _run_comprehension(
        self, generators: list[ast.comprehension], elements: Iterable[ast.expr]
    ) -> list[Any]:
        if not generators:
            return [tuple(self.evaluate(element) for element in elements)]
        found: list[Any] = []
        kept = dict(self._names)
        for item in self._list_items(generators[0].iter):
            self._assign_target(generators[0].target, item)
            tests = [self.evaluate(test) for test in generators[0].ifs]
            self._is_assuming |= any(isinstance(test, AssumedRank) for test in tests)
            if all(self._decide_truth(test) is not False for test in tests):
                found += self._run_comprehension(generators[1:], elements)
        self._names = {**self._names, **kept}
        return found

    def _assign_target(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._names[target.id] = value
        elif isinstance(target, ast.Attribute):
            owner = self.evaluate(target.value)
            if isinstance(owner, FileObject):
                owner.attributes[target.attr] = value
        elif isinstance(target, ast.Subscript):
            self._assign_item(self.evaluate(target.value), self.evaluate(target.slice), value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            is_known = isinstance(value, (list, tuple)) and len(value) == len(target.elts)
            for index, element in enumerate(target.elts):
                self._assign_target(element, value[index] if is_known else self._make_opaque(element))

    def _assign_item(self, holder: Any, key: Any, value: Any) -> None:
        in_dict = isinstance(holder, dict) and isinstance(key, (int, str))
        in_list = isinstance(holder, list) and isinstance(key, int) and -len(holder) <= key < len(holder)
        if in_dict or in_list:
            holder[key] = value
        elif holds_request(value):
            raise UnclearCode

    def _choose_outcome(self, test: ast.expr, first: bool = True) -> bool:
        """Return the outcome assumed for an unknown condition, the same for every rank."""
        return self.world.choices.setdefault(self.program.text(test), first)
