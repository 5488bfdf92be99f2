"""One file as the simulator sees it: its names, and cached answers about pieces of its code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache, cached_property

from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.dataflow import DataFlow
from torchmigrate.semantics.name_resolution import NameResolver, last_name, string_value
from torchmigrate.semantics.node_walks import walk_nodes
from torchmigrate.semantics.scope_builder import ModuleScopes
from torchmigrate.semantics.scopes import BindingKind, Scope
from torchmigrate.semantics.symbol_uses import SymbolUses

from .followed_values import SINGLE_OPERATIONS, FunctionDefinition, TorchName

_LEADING = SINGLE_OPERATIONS | {"batch_isend_irecv", "P2POp", "wait"}
"""Names of functions whose calls matter to the simulation."""
_DEVICE_SETTERS = frozenset({"set_default_device", "set_default_tensor_type"})


class SimulatedProgram:
    """The names and values of one file, as it is or as it would be after a change."""

    def __init__(self, scopes: ModuleScopes, names: NameResolver, flow: DataFlow) -> None:
        self.scopes, self.names, self.flow = scopes, names, flow
        self.tree = scopes.module.node
        self.scope_of = scopes.by_node
        """The scope of each module, class and function."""
        self._originals = dict(self._find_renamed())
        self.called = cache(self._find_called)
        self.assigned = cache(self._find_assigned_nodes)
        self.text = cache(ast.unparse)
        """Returns the code of an expression in a normal form, which is equal for equal code."""
        self.leaves = cache(self._may_leave)
        self.suspends = cache(self._may_suspend)
        self.resolve_torch = cache(self._resolve_torch)

    @classmethod
    def from_changed(cls, uses: SymbolUses, tree: ast.Module) -> SimulatedProgram:
        """Return the file of ``uses`` with another tree."""
        walrus = sorted(node.lineno for node in ast.walk(tree) if isinstance(node, ast.NamedExpr))
        scopes = ModuleScopes(tree, walrus)
        return cls(scopes, uses.names.for_tree(scopes), DataFlow(scopes))

    @cached_property
    def function_owners(self) -> dict[FunctionDefinition, ast.ClassDef | None]:
        """Every function, with the class that it is a method of."""
        return {
            node: parent if isinstance(parent, ast.ClassDef) else None
            for node, parent in self.flow.parents.items()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        }

    @cached_property
    def leading_names(self) -> frozenset[str]:
        """The functions of the file (and classes with such methods) that lead to a single operation."""
        callers: dict[str, set[str]] = {}
        for definition, owner in self.function_owners.items():
            name = owner.name if owner is not None and definition.name == "__init__" else definition.name
            for called in self.called(definition):
                callers.setdefault(called, set()).add(name)
        found: set[str] = set()
        waiting = [*SINGLE_OPERATIONS, "batch_isend_irecv"]
        while waiting:
            fresh = callers.get(waiting.pop(), set()) - found
            found |= fresh
            waiting += fresh
        return frozenset(found)

    @cached_property
    def makes_tensors_on_cpu(self) -> bool:
        """Whether a tensor made without a device is on the CPU: no other default is set, and gloo can carry it."""
        calls = [node for node in walk_nodes(self.tree) if isinstance(node, ast.Call)]
        entered = (
            item for node in walk_nodes(self.tree) if isinstance(node, ast.With) for item in node.items
        )
        devices = {last_name(e.func) for item in entered if isinstance(e := item.context_expr, ast.Call)}
        backends = (
            find_argument(c, 0, "backend") for c in calls if last_name(c.func) == "init_process_group"
        )
        has_gloo = any(backend is None or "gloo" in (string_value(backend) or "") for backend in backends)
        return has_gloo and "device" not in devices and _DEVICE_SETTERS.isdisjoint(self.called(self.tree))

    def is_relevant(self, node: ast.AST) -> bool:
        """Return whether code calls something that may issue an operation or wait for one."""
        called = self.called(node)
        return not (_LEADING.isdisjoint(called) and self.leading_names.isdisjoint(called))

    def issues_single(self, node: ast.AST) -> bool:
        """Return whether code calls a single operation."""
        return not SINGLE_OPERATIONS.isdisjoint(self.called(node))

    def find_called_name(self, call: ast.Call) -> str | None:
        """Return the last identifier of the called function, or torch's own name if it was imported under another."""
        name = last_name(call.func)
        return self._originals.get(name or "", name) if isinstance(call.func, ast.Name) else name

    def _find_called(self, node: ast.AST) -> frozenset[str]:
        calls = (part for part in walk_nodes(node) if isinstance(part, ast.Call))
        return frozenset(name for call in calls if (name := self.find_called_name(call)))

    def _find_assigned_nodes(self, node: ast.AST) -> frozenset[str]:
        names = (part for part in walk_nodes(node) if isinstance(part, ast.Name))
        return frozenset(name.id for name in names if isinstance(name.ctx, ast.Store))

    def _may_leave(self, node: ast.AST) -> bool:
        return any(isinstance(part, (ast.Return, ast.Break, ast.Continue)) for part in walk_nodes(node))

    def _may_suspend(self, node: ast.AST) -> bool:
        return any(isinstance(part, (ast.Yield, ast.YieldFrom, ast.Await)) for part in walk_nodes(node))

    def _resolve_torch(self, node: ast.expr, scope: Scope) -> TorchName | None:
        resolved = self.names.resolve_expression(node, scope)
        name = resolved.names[0] if resolved is not None and len(resolved.names) == 1 else ""
        return TorchName(name) if name.partition(".")[0] in ("torch", "os") and "()" not in name else None

    def _find_renamed(self) -> Iterator[tuple[str, str]]:
        """Yield the names under which the file imports functions of torch, each with torch's own name."""
        for scope in self.scopes.all:
            for name, bindings in scope.bindings.items():
                for binding in bindings:
                    if binding.kind is BindingKind.FROM and binding.module.partition(".")[0] == "torch":
                        yield name, binding.name
