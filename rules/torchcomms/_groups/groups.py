"""Process groups as source code makes them: names of the functions, backends, and what the project notes of them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.semantics.resolve import string
from torchmigrate.semantics.scopes import BindingKind

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use


def c10d(*names: str) -> tuple[str, ...]:
    """The qualified names of functions of torch.distributed, in the package and where they are defined."""
    return tuple(
        f"torch.distributed.{module}{name}" for name in names for module in ("", "distributed_c10d.")
    )


INIT = c10d("init_process_group")
NEW_GROUP = c10d("new_group", "split_group")

NCCL_WORLD = "init_process_group: nccl"
OTHER_WORLD = "init_process_group: not nccl"
UNKNOWN_WORLD = "init_process_group: some backend"
EAGER_WORLD = "init_process_group: device_id"
GLOO_GROUP = "new_group: gloo"

UNDEFINED = ""
"""The backend where none is given: the default one of every device."""


def argument(call: ast.Call, position: int, keyword: str) -> ast.expr | None:
    """An argument given by position or by name; None where it is absent (or hidden in ``*`` or ``**``)."""
    for given in call.keywords:
        if given.arg == keyword:
            return given.value
    positional = call.args[: position + 1]
    if len(positional) <= position or any(isinstance(given, ast.Starred) for given in positional):
        return None
    return positional[position]


def backends(node: ast.expr | None, use: Use, ctx: Context) -> frozenset[str] | None:
    """The backends that an expression near ``use`` can name, in lower case; None where that is not known."""
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return frozenset([UNDEFINED])
    value = string(node)
    if value is not None:
        return frozenset([value.lower()])
    if isinstance(node, ast.JoinedStr):
        text = "".join(string(part) or "?" for part in node.values)
        return frozenset([text.lower()]) if "nccl" in text.lower() else None
    if isinstance(node, ast.IfExp):
        return _union([backends(part, use, ctx) for part in (node.body, node.orelse)])
    if isinstance(node, ast.Name):
        return _of_name(node.id, use, ctx)
    resolved = ctx.resolve(node, use)
    name = resolved.names[0] if resolved is not None and resolved.certain else ""
    if name.startswith("torch.distributed.") and ".Backend." in name:
        return frozenset([name.rpartition(".")[2].lower()])
    return None


def _of_name(name: str, use: Use, ctx: Context) -> frozenset[str] | None:
    owner = use.place.scope.find(name)
    found = []
    for binding in owner.bindings[name] if owner else ():
        default = _default(binding.node, owner.node) if owner else None
        if default is not None and b"nccl" not in ctx.source.text.lower():
            return frozenset([default])
        literal = isinstance(binding.value, (ast.Constant, ast.IfExp, ast.JoinedStr, ast.Attribute))
        if binding.kind is not BindingKind.VALUE or not literal:
            return None
        found.append(backends(binding.value, use, ctx))
    return _union(found) if found else None


def _default(parameter: ast.AST, function: ast.AST) -> str | None:
    """The string that a parameter of a function is by default."""
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    spec = function.args
    positional = [*spec.posonlyargs, *spec.args]
    pairs = [*zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True)]
    pairs += [(name, value) for name, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if value]
    return next((string(value) for name, value in pairs if name is parameter), None)


def _union(parts: list[frozenset[str] | None]) -> frozenset[str] | None:
    known = [part for part in parts if part is not None]
    return frozenset().union(*known) if len(known) == len(parts) else None


def by_device(backend: str) -> list[str]:
    """The backends in ``"cpu:gloo,cuda:nccl"``, or the one that is named."""
    return [part.rpartition(":")[2] for part in backend.split(",")]


def is_nccl(backend: str) -> bool:
    """Whether a backend is (or, on a GPU, becomes) the one that torch 2.15 runs on torchcomms."""
    return backend == UNDEFINED or any(part in ("nccl", "nccl2") for part in by_device(backend))


def note(use: Use, ctx: Context) -> Iterator[str]:
    """What a call that makes a process group tells about the project."""
    if use.call is None:
        return
    position = 0 if use.symbol in INIT else 2
    found = backends(argument(use.call, position, "backend"), use, ctx)
    hidden = any(given.arg is None for given in use.call.keywords)
    if use.symbol in INIT:
        if found is None or hidden:
            yield UNKNOWN_WORLD
        else:
            yield NCCL_WORLD if any(map(is_nccl, found)) else OTHER_WORLD
        if argument(use.call, 8, "device_id") is not None:
            yield EAGER_WORLD
    elif found is not None and "gloo" in found:
        yield GLOO_GROUP


def may_be_nccl(ctx: Context) -> bool:
    """Whether the default group can be nccl's: unless the project makes it, and each time of another backend."""
    other = ctx.project.uses(OTHER_WORLD)
    return not other or bool(ctx.project.uses(NCCL_WORLD, UNKNOWN_WORLD))
