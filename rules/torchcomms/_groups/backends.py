"""The backends that source code names when it creates a process group."""

from __future__ import annotations

import ast

from torchmigrate.api import Context, Use
from torchmigrate.semantics.name_resolution import string_value
from torchmigrate.semantics.scopes import BindingKind

UNDEFINED = ""
"""The backend where none is given: the default backend of every device."""


def find_backends(node: ast.expr | None, use: Use, ctx: Context) -> frozenset[str] | None:
    """Return the backends that an expression near ``use`` may name, in lower case; None if unknown."""
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return frozenset([UNDEFINED])
    value = string_value(node)
    if value is not None:
        return frozenset(["" if value == "undefined" else value.lower()])
    if isinstance(node, ast.JoinedStr):
        text = "".join(string_value(part) or "?" for part in node.values)
        return frozenset([text.lower()]) if "nccl" in text.lower() else None
    if isinstance(node, ast.IfExp):
        return _unite_known([find_backends(part, use, ctx) for part in (node.body, node.orelse)])
    if isinstance(node, ast.Name):
        return _find_assigned_nodes(node.id, use, ctx)
    if isinstance(node, ast.Call) and len(node.args) == 1 and ctx.is_named(node.func, use, *_BACKEND):
        return find_backends(node.args[0], use, ctx)
    resolved = ctx.resolve_node(node, use)
    name = resolved.names[0] if resolved is not None and resolved.certain else ""
    if name.startswith("torch.distributed.") and ".Backend." in name:
        return frozenset([name.rpartition(".")[2].lower()])
    return None


_BACKEND = ("torch.distributed.Backend", "torch.distributed.distributed_c10d.Backend")


def _find_assigned_nodes(name: str, use: Use, ctx: Context) -> frozenset[str] | None:
    owner = use.place.scope.find_scope(name)
    found = []
    for binding in owner.bindings[name] if owner else ():
        given = find_default(binding.node, owner.node) if owner else None
        default = string_value(given) if given is not None else None
        # A default that the file never contrasts with nccl is taken for the value.
        if default is not None and b"nccl" not in ctx.source.text.lower():
            return frozenset([default])
        literal = isinstance(binding.value, (ast.Constant, ast.IfExp, ast.JoinedStr, ast.Attribute, ast.Call))
        if binding.kind is not BindingKind.VALUE or not literal:
            return None
        found.append(find_backends(binding.value, use, ctx))
    return _unite_known(found) if found else None


def find_default(parameter: ast.AST, function: ast.AST) -> ast.expr | None:
    """Return the default of a function's parameter."""
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    spec = function.args
    positional = [*spec.posonlyargs, *spec.args]
    pairs = [*zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True)]
    pairs += [(name, value) for name, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if value]
    return next((value for name, value in pairs if name is parameter), None)


def _unite_known(parts: list[frozenset[str] | None]) -> frozenset[str] | None:
    known = [part for part in parts if part is not None]
    return frozenset().union(*known) if len(known) == len(parts) else None


def split_by_device(backend: str) -> list[str]:
    """Return the backends in ``"cpu:gloo,cuda:nccl"``, or the only one in ``"nccl"``."""
    return [part.rpartition(":")[2] for part in backend.split(",")]


def uses_nccl(backend: str) -> bool:
    """Return whether a backend is, or on a GPU becomes, the one that torch 2.15 runs on torchcomms."""
    return backend == UNDEFINED or any(part in ("nccl", "nccl2") for part in split_by_device(backend))
