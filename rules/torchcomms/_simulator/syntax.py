"""What pieces of code contain, each looked at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

from torchmigrate.semantics.calls import argument
from torchmigrate.semantics.nodes import walk
from torchmigrate.semantics.resolve import leaf, string
from torchmigrate.semantics.scopes import BindingKind

from .program import Program

_SETTERS = frozenset({"set_default_device", "set_default_tensor_type"})


class Syntax:
    """Remembers what it has found out about the nodes of one tree."""

    def __init__(self, program: Program) -> None:
        self._originals = dict(_renamed(program))
        self._called: dict[ast.AST, frozenset[str]] = {}
        self._leaves: dict[ast.AST, bool] = {}
        self._assigned: dict[ast.AST, frozenset[str]] = {}
        self._texts: dict[ast.AST, str] = {}
        self._generators: dict[ast.AST, bool] = {}
        self.scopes = {scope.node: scope for scope in program.scopes.all}
        """The scope of each module, class and function."""
        self._tree = program.scopes.module.node

    @cached_property
    def has_gloo(self) -> bool:
        """Whether the file makes a default group that takes tensors on the CPU, which ``nccl`` alone does not."""
        for node in walk(self._tree):
            if isinstance(node, ast.Call) and leaf(node.func) == "init_process_group":
                backend = argument(node, 0, "backend")
                if backend is None or "gloo" in (string(backend) or ""):
                    return True
        return False

    @cached_property
    def sets_default_device(self) -> bool:
        """Whether tensors are made elsewhere than on the CPU where no device is named."""
        entered = (
            item.context_expr
            for node in walk(self._tree)
            if isinstance(node, ast.With)
            for item in node.items
        )
        devices = (node for node in entered if isinstance(node, ast.Call) and leaf(node.func) == "device")
        return not _SETTERS.isdisjoint(self.called(self._tree)) or any(devices)

    def called(self, node: ast.AST) -> frozenset[str]:
        """The last identifiers of everything that is called."""
        if node not in self._called:
            calls = (part for part in walk(node) if isinstance(part, ast.Call))
            self._called[node] = frozenset(name for call in calls if (name := self.name(call)))
        return self._called[node]

    def name(self, call: ast.Call) -> str | None:
        """The last identifier of what is called; the original one, if it was imported from torch under another."""
        name = leaf(call.func)
        return self._originals.get(name or "", name) if isinstance(call.func, ast.Name) else name

    def leaves(self, node: ast.AST) -> bool:
        """Whether it may end the function, or the loop's round, that it stands in."""
        if node not in self._leaves:
            exits = (ast.Return, ast.Break, ast.Continue)
            self._leaves[node] = any(isinstance(part, exits) for part in walk(node))
        return self._leaves[node]

    def assigned(self, node: ast.AST) -> frozenset[str]:
        """The names that it binds."""
        if node not in self._assigned:
            names = (part for part in walk(node) if isinstance(part, ast.Name))
            self._assigned[node] = frozenset(name.id for name in names if isinstance(name.ctx, ast.Store))
        return self._assigned[node]

    def is_generator(self, definition: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Whether calling the function does not run it at once."""
        if definition not in self._generators:
            suspends = (ast.Yield, ast.YieldFrom, ast.Await)
            self._generators[definition] = any(isinstance(node, suspends) for node in walk(definition))
        return self._generators[definition]

    def text(self, node: ast.AST) -> str:
        """The expression in a normal form: equal for equal code."""
        if node not in self._texts:
            self._texts[node] = ast.unparse(node)
        return self._texts[node]


def _renamed(program: Program) -> Iterator[tuple[str, str]]:
    """Names of a file for what torch calls otherwise, with torch's name for it."""
    for scope in program.scopes.all:
        for name, bindings in scope.bindings.items():
            for binding in bindings:
                if binding.kind is BindingKind.FROM and binding.module.partition(".")[0] == "torch":
                    yield name, binding.name
