"""The models of a function that are certainly on a GPU, or there if there is one, when a use is reached."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import NamedTuple

from torchmigrate.api import Context, Use
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name, string_value

from .enclosing_nodes import FunctionNode, walk_body

_PARALLEL = ("torch.nn.DataParallel", "torch.nn.parallel.DataParallel")
_DISTRIBUTED = (
    "torch.nn.parallel.DistributedDataParallel",
    "torch.nn.parallel.distributed.DistributedDataParallel",
)
_WRAPPERS = frozenset(
    {*_PARALLEL, *_DISTRIBUTED, "torch.compile", "torch.nn.SyncBatchNorm.convert_sync_batchnorm"}
)
"""Functions whose result has the parameters of the module that they are given."""
_MOVING = (ast.Assign, ast.AnnAssign, ast.Expr)
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


class CudaModels(NamedTuple):
    """What is on a GPU, as expressions that are written in the same way."""

    names: frozenset[str]
    with_choice: bool
    """Whether some of it may be on a CPU instead, where there is no GPU."""


def find_cuda_models(use: Use, ctx: Context) -> CudaModels:
    """Return what is on a GPU before the statement of a use."""
    reader = _Reader(use, ctx)
    blocks: list[list[ast.stmt]] = []
    for place in use.place.enclosing_places():
        if isinstance(place.statement, (FunctionNode, ast.ClassDef)):
            break
        blocks.append(place.preceding_statements())
    moved: frozenset[str] = frozenset()
    for block in reversed(blocks):
        moved = reader.run(block, moved) or frozenset()
    return CudaModels(moved, reader.with_choice)


def is_part_of(expression: ast.expr, models: frozenset[str]) -> bool:
    """Return whether an expression is one of some models, or an attribute or item of one."""
    while True:
        if ast.unparse(expression) in models:
            return True
        if not isinstance(expression, (ast.Attribute, ast.Subscript)):
            return False
        expression = expression.value


class _Reader:
    """Follows the statements of a function, and keeps the expressions that are moved to a GPU on every way."""

    def __init__(self, use: Use, ctx: Context) -> None:
        self._use, self._ctx = use, ctx
        self.with_choice = False

    def run(self, statements: Iterable[ast.stmt], moved: frozenset[str]) -> frozenset[str] | None:
        """Return what is on a GPU after some statements; None if they do not reach their end."""
        for statement in statements:
            if isinstance(statement, _LEAVING):
                return None
            match statement:
                case ast.If():
                    after = [self.run(body, moved) for body in (statement.body, statement.orelse)]
                    reached = [one for one in after if one is not None]
                    if not reached:
                        return None
                    moved = frozenset.intersection(*reached)
                case ast.With():
                    within = self.run(statement.body, moved)
                    if within is None:
                        return None
                    moved = within
                case ast.For() | ast.While() | ast.Try():
                    inner = [node for node in walk_body([statement]) if isinstance(node, _MOVING)]
                    moved = moved & (self.run(inner, moved) or frozenset())
                    moved = _forget(statement.target, moved) if isinstance(statement, ast.For) else moved
                case (
                    ast.Assign(targets=[target], value=value)
                    | ast.AnnAssign(target=target, value=ast.expr() as value)
                ):
                    moved = self._assign(target, value, moved)
                case ast.Assign(targets=targets):
                    for target in targets:
                        moved = _forget(target, moved)
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=model)) as call):
                    moved = self._move(model, call, moved)
        return moved

    def _assign(self, target: ast.expr, value: ast.expr, moved: frozenset[str]) -> frozenset[str]:
        is_moved = self._is_moved(value, moved)
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            moved = self._move(value.func.value, value, moved)
        moved = _forget(target, moved)
        return moved | {ast.unparse(target)} if is_moved else moved

    def _move(self, model: ast.expr, call: ast.Call, moved: frozenset[str]) -> frozenset[str]:
        """Return what is on a GPU after ``model.cuda()``, which moves a module in place, or another method."""
        if self._is_to_cuda(call):
            return moved | {ast.unparse(model)}
        return _forget(model, moved) if last_name(call.func) in ("cpu", "to", "to_empty") else moved

    def _is_moved(self, value: ast.expr, moved: frozenset[str]) -> bool:
        if not isinstance(value, ast.Call):
            return is_part_of(value, moved)
        if self._is_to_cuda(value):
            return True
        resolved = self._ctx.resolve_node(value.func, self._use)
        if resolved is None or not resolved.certain or resolved.names[0] not in _WRAPPERS or not value.args:
            return False
        if resolved.names[0] in _DISTRIBUTED:
            devices = find_argument(value, 1, "device_ids")
            if isinstance(devices, ast.List) and len(devices.elts) == 1:
                return True  # It refuses a module that is on a CPU.
        return self._is_moved(value.args[0], moved)

    def _is_to_cuda(self, call: ast.Call) -> bool:
        """Return whether a call is ``….cuda(…)`` or ``….to(…)`` with a GPU."""
        if not isinstance(call.func, ast.Attribute):
            return False
        if call.func.attr in ("train", "eval", "float", "half", "bfloat16", "requires_grad_"):
            return isinstance(call.func.value, ast.Call) and self._is_to_cuda(call.func.value)
        if call.func.attr == "cuda":
            return True
        device = find_argument(call, 0, "device") if call.func.attr == "to" else None
        return device is not None and self._is_cuda(device)

    def _is_cuda(self, device: ast.expr) -> bool:
        """Return whether an expression certainly is a CUDA device, or its name, or a choice between CUDA and the CPU."""
        match device:
            case ast.IfExp(body=body, orelse=orelse):
                kinds = {self._find_kind(body), self._find_kind(orelse)}
                self.with_choice |= kinds == {"cuda", "cpu"}
                return kinds <= {"cuda", "cpu"} and "cuda" in kinds
            case ast.Name():
                made = self._ctx.uses.data_flow.find_definition(device, self._use.place.scope)
                return made is not None and self._is_cuda(made)
            case ast.Call(func=ast.Attribute(value=ast.Constant() as text, attr="format")):
                return self._is_cuda(text)
            case ast.Call(args=[named, *_]):
                return self._ctx.is_named(device.func, self._use, "torch.device") and self._is_cuda(named)
            case ast.JoinedStr(values=[first, *_]) | ast.BinOp(left=first, op=ast.Add() | ast.Mod()):
                return self._is_cuda(first)
        return self._find_kind(device) == "cuda"

    def _find_kind(self, device: ast.expr) -> str | None:
        """Return the kind of the device that a string names, or ``torch.device`` of a string."""
        match device:
            case ast.Call(args=[named, *_]) if self._ctx.is_named(device.func, self._use, "torch.device"):
                return self._find_kind(named)
        name = string_value(device)
        return name.partition(":")[0] if name is not None else None


def _forget(target: ast.expr, moved: frozenset[str]) -> frozenset[str]:
    """Return what is still known after a target has another value."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for one in target.elts:
            moved = _forget(one, moved)
        return moved
    name = ast.unparse(target)
    return frozenset(one for one in moved if one != name and not one.startswith((f"{name}.", f"{name}[")))
