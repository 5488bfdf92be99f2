# ruff: noqa: N802 (handlers are named after the nodes of the syntax tree)
"""The expressions of a program that is interpreted for one rank."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from torchmigrate.semantics.resolve import leaf

from .machine import Machine
from .values import (
    BINARY,
    COMPARE,
    EACH,
    PLAIN,
    UNKNOWN,
    Assumed,
    Guess,
    Instance,
    Method,
    NotARing,
    OnCpu,
    Opaque,
    Torch,
    Unclear,
    derived,
    guess,
    holds_request,
    method_of,
)

if TYPE_CHECKING:
    pass


def _is_round(node: ast.AST) -> bool:
    """``(rank + 1) % n``: the next one in a ring, whatever the number of ranks is called."""
    is_modulo = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)
    inner = node.left if is_modulo and isinstance(node, ast.BinOp) else None
    return isinstance(inner, ast.BinOp) and isinstance(inner.op, (ast.Add, ast.Sub))


class Expressions(Machine):
    """Evaluates expressions, except for calls."""

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
        resolved = self.program.names.resolve(node, self._scope)
        name = resolved.names[0] if resolved is not None and len(resolved.names) == 1 else ""
        return Torch(name) if name.partition(".")[0] in ("torch", "os") and "()" not in name else None

    def _global(self, name: str) -> Any:
        bindings = self.program.scopes.module.bindings.get(name, [])
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
            method = method_of(owner.definition, node.attr)
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
            return derived(owner[key], key)
        if isinstance(owner, dict) and isinstance(key, (int, str)) and key in owner:
            return owner[key]
        if holds_request(owner) and isinstance(node.slice, ast.Slice):
            raise Unclear
        return (OnCpu if isinstance(owner, OnCpu) else Opaque)(
            f"{self.syntax.text(node.value)}[{key!r}]"
            if isinstance(key, (int, str))
            else self.syntax.text(node)
        )

    def _environment(self, name: Any) -> Any:
        known = {"RANK": self.rank, "LOCAL_RANK": self.rank, "WORLD_SIZE": self.world.size}
        return str(known[name]) if name in known else Opaque(f"environ {name}")

    def _value_IfExp(self, node: ast.IfExp) -> Any:
        test = self.value(node.test)
        truth = self._truth(test)
        if truth is not None:
            return derived(self.value(node.body if truth else node.orelse), test)
        if any(map(self._is_relevant, (node.body, node.orelse))):
            raise Unclear
        values = [self.value(node.body), self.value(node.orelse)]
        return values[0] if self._choose(node.test) else values[1]

    def _value_BoolOp(self, node: ast.BoolOp) -> Any:
        is_and = isinstance(node.op, ast.And)
        unknown = False
        value: Any = None
        for part in node.values:
            value = derived(self.value(part), value)
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
            return Opaque(self.syntax.text(node)) if truth is None else derived(not truth, value)
        if isinstance(node.op, ast.USub) and isinstance(value, (int, float)):
            return derived(-value, value)
        return Opaque(self.syntax.text(node))

    def _value_BinOp(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        if isinstance(right, Opaque) and _is_round(node):
            return self._in_round(node, left)
        return self._binary(node.op, left, right, node)

    def _in_round(self, node: ast.BinOp, left: Any) -> Any:
        """``(rank + 1) % n``, where `n` is taken for the number of ranks."""
        if isinstance(left, Opaque) and isinstance(node.right, ast.Name):  # `(rank - 1 + n) % n`
            names = self._names
            self._names = {**names, node.right.id: Assumed(self.world.size)}
            left = self.value(node.left)
            self._names = names
        is_known = isinstance(left, int)
        return Assumed(left % self.world.size) if is_known else Opaque(self.syntax.text(node))

    def _binary(self, kind: ast.operator, left: Any, right: Any, node: ast.AST) -> Any:
        if isinstance(left, PLAIN) and isinstance(right, PLAIN) and type(kind) in BINARY:
            try:
                return derived(BINARY[type(kind)](left, right), left, right)
            except (TypeError, ValueError, ZeroDivisionError, OverflowError):
                return Opaque(self.syntax.text(node))
        return Opaque(self.syntax.text(node))

    def _value_Compare(self, node: ast.Compare) -> Any:
        left = self.value(node.left)
        sides = [left]
        for kind, side in zip(node.ops, node.comparators, strict=True):
            right = self.value(side)
            sides.append(right)
            self._look_for_ends(left, right)
            truth = self._compare(kind, left, right)
            if truth is None:
                return Opaque(self.syntax.text(node))
            if not truth:
                return derived(False, *sides)
            left = right
        return derived(True, *sides)

    def _look_for_ends(self, left: Any, right: Any) -> None:
        for one, other in ((left, right), (right, left)):
            number = isinstance(other, int) and not isinstance(other, (bool, Guess))
            ends = other is None or (number and other in (-1, 0, self.world.size))
            if isinstance(one, Guess) and self.world.is_ring and ends:
                raise NotARing(-1 if other == 0 else other)

    def _compare(self, kind: ast.cmpop, left: Any, right: Any) -> bool | None:
        if any(isinstance(side, Opaque) for side in (left, right)):
            if isinstance(kind, (ast.Eq, ast.Is)) and left == right:
                return True
            return self._skips_itself(kind, left, right)
        try:
            return bool(COMPARE[type(kind)](left, right))
        except TypeError:
            return None

    def _skips_itself(self, kind: ast.cmpop, left: Any, right: Any) -> bool | None:
        """``for peer in neighbours: if peer != rank`` is about the one round that does not matter."""
        each = any(isinstance(side, Opaque) and side.key.startswith(EACH) for side in (left, right))
        if each and self.rank in (left, right) and isinstance(kind, (ast.Eq, ast.NotEq)):
            return isinstance(kind, ast.NotEq)
        return None

    def _truth(self, value: Any) -> bool | None:
        if isinstance(value, Opaque):
            return None
        if isinstance(value, Guess) and self.world.is_ring:
            raise NotARing(None)
        return bool(value) if isinstance(value, PLAIN) else True

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
            items = [Opaque(f"{EACH}{self.syntax.text(first.iter)}")]
        found: list[Any] = []
        kept = dict(self._names)
        for item in items:
            self._assign(first.target, item)
            tests = [self.value(test) for test in first.ifs]
            self._is_assuming |= any(isinstance(test, Assumed) for test in tests)
            if all(self._truth(test) is not False for test in tests):
                found += self._comprehension(rest, elements)
        self._names = {**self._names, **kept}
        return found

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
            elif holds_request(value):
                raise Unclear
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts = value if isinstance(value, (list, tuple)) and len(value) == len(target.elts) else None
            for index, element in enumerate(target.elts):
                self._assign(
                    element, parts[index] if parts is not None else Opaque(self.syntax.text(element))
                )

    def _choose(self, test: ast.expr, first: bool = True) -> bool:
        return self.world.choices.setdefault(self.syntax.text(test), first)
