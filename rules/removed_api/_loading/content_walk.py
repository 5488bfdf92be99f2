"""The way of a loaded value through a module, and what its uses show about it.

The result is followed through variables, parts of containers, attributes of ``self``, and functions of the module: into
those that it is passed to, and out of those that return it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchmigrate.semantics.function_calls import bind_parameter, find_function, find_function_calls
from torchmigrate.semantics.name_resolution import last_name, string_value
from torchmigrate.semantics.scopes import Scope
from torchmigrate.semantics.symbol_uses import SymbolUses

from .content_names import (
    KEEPERS,
    MODEL_NAMES,
    NAMESPACES,
    PLAIN_MEMBERS,
    PLAIN_TAKERS,
    READERS,
    SHARED_MEMBERS,
    STATE_NAMES,
    STATE_TAKERS,
    TESTS,
    list_tensor_members,
    takes_tensor,
)
from .loaded_content import LoadedContent
from .value_tests import is_item_replaced, is_tested, is_tested_for_class

_MOST = 300
"""The number of expressions after which a value is followed no further."""

_Part = (ast.Tuple, ast.List, ast.Set, ast.Starred)


class _Value(NamedTuple):
    """An expression that has the loaded value, or something that is in it."""

    node: ast.expr
    scope: Scope
    depth: int
    """How many containers it was taken out of: 0 for what was loaded."""
    is_only: bool
    """Whether the expression has no other value."""

    @property
    def is_part(self) -> bool:
        """Whether it is only in what was loaded."""
        return self.depth > 0

    def move_to(self, node: ast.expr, deeper: int = 0, *, is_only: bool = True) -> _Value:
        """Return the same value at another expression, taken out of so many more containers."""
        return self._replace(node=node, depth=self.depth + deeper, is_only=self.is_only and is_only)


def find_content(call: ast.expr, scope: Scope, uses: SymbolUses) -> LoadedContent:
    """Return what the uses of the result of a call show about it."""
    walk = _ContentWalk(uses)
    walk.follow_value(_Value(call, scope, depth=0, is_only=True))
    return walk.found


class _ContentWalk:
    """Follows a loaded value through the module."""

    def __init__(self, uses: SymbolUses) -> None:
        self.found = LoadedContent()
        self._uses = uses
        self._parents = uses.data_flow.parents
        self._seen: set[ast.AST] = set()

    def follow_value(self, value: _Value) -> None:
        """Follow the loaded value, and add what its uses show."""
        waiting = [value]
        for one in waiting:  # the list grows while it is walked
            if one.node in self._seen:
                continue
            if len(self._seen) > _MOST:
                self.found.escapes = True
                return
            self._seen.add(one.node)
            waiting += self._follow_once(one)

    def _follow_once(self, value: _Value) -> Iterator[_Value]:
        """Yield the expressions that have the value, or a part of it, because of the code around it."""
        node, parent = value.node, self._parents.get(value.node)
        match parent:
            case ast.Attribute():
                yield from self._read_member(parent, value)
            case ast.Subscript(value=owner) if owner is node:
                if isinstance(parent.ctx, ast.Load):
                    key = string_value(parent.slice)
                    is_section = (last_name(parent.slice) or "").isupper() or (
                        key is not None and "." not in key
                    )
                    self.found.has_sections |= is_section and not value.is_part
                    kept = not is_item_replaced(parent, value.scope.node, self._uses)
                    yield value.move_to(parent, 1, is_only=kept)
            case ast.Call(func=function) if function is node:
                self._show_object(parent, value)
            case ast.Call():
                yield from self._enter_call(parent, node, value)
            case ast.keyword():
                call = self._parents[parent]
                if isinstance(call, ast.Call):
                    yield from self._enter_call(call, parent, value)
            case ast.Assign(targets=targets):
                for target in targets:
                    yield from self._bind_target(target, value)
            case ast.AnnAssign(target=target):
                yield from self._bind_target(target, value)
            case ast.For(iter=source, target=target) | ast.comprehension(iter=source, target=target):
                if source is node:
                    yield from self._iterate(parent, target, value)
            case ast.Return():
                yield from self._return_value(None, value)
            case ast.Tuple() if isinstance(self._parents.get(parent), ast.Return):
                yield from self._return_value(parent.elts.index(node), value)
            case ast.IfExp(test=test) if test is not node:
                yield value.move_to(parent, is_only=False)
            case ast.BoolOp():
                yield value.move_to(parent, is_only=False)
            case ast.NamedExpr(target=target):
                yield value.move_to(parent)
                yield from self._bind_target(target, value)
            case ast.Await():
                yield value.move_to(parent)
            case ast.Dict() if node in parent.values:
                yield value.move_to(parent, -1)
            case ast.DictComp() | ast.ListComp() | ast.GeneratorExp():
                yield value.move_to(parent, -1)
            case ast.Yield() | ast.YieldFrom() | ast.withitem():
                self.found.escapes = True
            case None:
                self.found.escapes = True
            case _ if isinstance(parent, _Part):
                taker = self._parents.get(parent)
                if isinstance(taker, ast.Call) and takes_tensor(taker, value.scope, self._uses):
                    self._show_state(taker, value)  # torch.cat([value, other])
                else:
                    self.found.escapes = True

    def _read_member(self, member: ast.Attribute, value: _Value) -> Iterator[_Value]:
        """Judge ``value.name``, read, called or set."""
        name, call = member.attr, self._parents.get(member)
        if not isinstance(call, ast.Call) or call.func is not member:
            call = None
        if name == "items" and call is not None:
            yield value.move_to(call)
        elif name in SHARED_MEMBERS and call is not None:
            yield value.move_to(call, int(name in ("pop", "get", "setdefault", "values")))
        elif name in PLAIN_MEMBERS or (name.startswith("__") and name != "__dict__"):
            pass
        elif name in list_tensor_members():
            self._show_state(member, value)
        else:
            self._show_object(member, value)

    def _show_state(self, node: ast.AST, value: _Value) -> None:
        if value.is_part:
            self.found.part_state = self.found.part_state or node
        else:
            self.found.state = self.found.state or node

    def _show_object(self, node: ast.expr, value: _Value) -> None:
        place = value.node, value.scope.node, self._uses
        if is_tested(*place) and not is_tested_for_class(*place):
            self.found.is_tested = True
        elif value.is_only and self.found.object_use is None:
            self.found.object_use, self.found.is_model = node, not value.is_part
        else:
            self.found.escapes = True

    def _enter_call(
        self, call: ast.Call, argument: ast.expr | ast.keyword, value: _Value
    ) -> Iterator[_Value]:
        """Follow a value into a function that takes it."""
        name = last_name(call.func) or ""
        if name in TESTS:
            return
        if isinstance(argument, ast.Subscript) and string_value(argument.slice) in NAMESPACES:
            self.found.has_namespace |= name not in PLAIN_TAKERS
        if isinstance(argument, ast.keyword) and argument.arg is None:
            return  # only a mapping can be unpacked so
        if name in ("vars", "from_numpy"):
            self._show_object(call, value._replace(is_only=True))  # whatever else the variable may have
        elif STATE_TAKERS.search(name):
            self._show_state(call, value)
        elif name in KEEPERS:
            yield value.move_to(call)
        elif takes_tensor(call, value.scope, self._uses) or (
            isinstance(argument, ast.keyword) and STATE_NAMES.search(argument.arg or "")
        ):
            self._show_state(call, value)
        else:
            function = find_function(call.func, value.scope)
            parameter = None if function is None else bind_parameter(function, call, argument)
            if function is None or parameter is None:
                self.found.escapes |= name not in READERS
                return
            if STATE_NAMES.search(parameter) and not value.is_part:
                self.found.is_named = True
            yield from self._read_variable(parameter, self._uses.scopes.by_node[function], function, value)

    def _bind_target(self, target: ast.expr, value: _Value) -> Iterator[_Value]:
        """Follow a value into what it is assigned to."""
        if not value.is_part:
            self.found.is_named |= STATE_NAMES.search(last_name(target) or "") is not None
            self.found.is_model_named |= MODEL_NAMES.search(last_name(target) or "") is not None
        if isinstance(target, ast.Name):
            yield from self._read_variable(target.id, value.scope, target, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for element in target.elts:
                yield from self._bind_target(element, value._replace(depth=value.depth + 1))
        elif isinstance(target, ast.Attribute):
            yield from self._read_attribute(target, value)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            for read in self._uses.data_flow.find_reaching(target.value.id, value.scope).reads:
                yield value.move_to(read, -1, is_only=False)

    def _read_variable(self, name: str, scope: Scope, binding: ast.AST, value: _Value) -> Iterator[_Value]:
        """Yield the reads of a variable that see one binding of it."""
        if name in scope.outer or scope.is_class:
            self.found.escapes = True
            return
        reaching = self._uses.data_flow.find_reaching(name, scope)
        only = len(reaching.bindings) == 1 and binding in reaching.bindings
        for read, state in reaching.reads.items():
            if binding in state:
                yield _Value(read, self._uses.scope_of(read), value.depth, value.is_only and len(state) == 1)
        for read in reaching.captured if only else ():
            yield _Value(read, self._uses.scope_of(read), value.depth, value.is_only)

    def _read_attribute(self, target: ast.Attribute, value: _Value) -> Iterator[_Value]:
        """Yield the reads of an attribute of ``self`` in its class, if only one place sets it."""
        owner = value.scope.parent
        if not isinstance(target.value, ast.Name) or owner is None or not owner.is_class:
            self.found.escapes = True
            return
        members = self._uses.compute_once(("members", owner.node), lambda: _index_members(owner.node))
        same = members.get(f"{target.value.id}.{target.attr}", [])
        only = sum(isinstance(one.ctx, ast.Store) for one in same) == 1
        for one in same:
            if isinstance(one.ctx, ast.Load):
                yield _Value(one, self._uses.scope_of(one), value.depth, value.is_only and only)
        self.found.escapes = True  # other modules can read it

    def _iterate(
        self, loop: ast.For | ast.comprehension, target: ast.expr, value: _Value
    ) -> Iterator[_Value]:
        """Yield the reads of what a loop takes out of the value."""
        names = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
        if isinstance(target, ast.Tuple) and len(target.elts) == 2 and isinstance(target.elts[0], ast.Name):
            names.discard(target.elts[0].id)  # the key
        around = self._parents.get(loop) if isinstance(loop, ast.comprehension) else loop
        if around is None:
            return
        if isinstance(loop, ast.comprehension):
            assert isinstance(around, ast.expr)
            yield value.move_to(around)
        for node in ast.walk(around):
            if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load):
                yield value.move_to(node, 1)

    def _return_value(self, position: int | None, value: _Value) -> Iterator[_Value]:
        """Yield the results of the calls of the function that returns the value."""
        function = value.scope.node
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return
        if STATE_NAMES.search(function.name) and not value.is_part and position is None:
            self.found.is_named = True
        self.found.escapes = True  # other modules can call it
        returns = [
            node for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None
        ]
        only = value.is_only and len(returns) == 1
        for call in find_function_calls(function, self._uses):
            scope = self._uses.scope_of(call)
            result = _Value(call, scope, value.depth, only)
            around = self._parents.get(call)
            if position is None:
                yield result
            elif isinstance(around, ast.Assign) and isinstance(around.targets[0], ast.Tuple):
                elements = around.targets[0].elts
                if position < len(elements):
                    yield from self._bind_target(elements[position], result)


def _index_members(owner: ast.AST) -> dict[str, list[ast.Attribute]]:
    """Index the attributes of plain variables in a class by their code."""
    found: dict[str, list[ast.Attribute]] = {}
    for node in ast.walk(owner):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.setdefault(f"{node.value.id}.{node.attr}", []).append(node)
    return found
