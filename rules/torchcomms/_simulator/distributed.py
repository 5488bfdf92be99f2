"""The calls of torch's functions by a program that is interpreted for one rank."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from .communicators import Channels, Group, Operation, Transfer, Wait
from .expressions import Expressions
from .values import (
    COLLECTIVES,
    SINGLE,
    Assumed,
    CpuTensor,
    Opaque,
    TorchName,
    Unclear,
    channels_of,
    is_cpu_group_name,
)

_FROM_HOST = ("frombuffer", "from_numpy")
_FACTORIES = frozenset(
    ["empty", "zeros", "ones", "full", "rand", "randn", "randint", "randperm", "arange", "linspace", "eye"]
)
_MOVING = ("to", "cuda", "xpu", "npu", "type")
"""Methods of a tensor whose result may be on another device."""


@dataclass(frozen=True)
class Arguments:
    """The evaluated arguments of a call."""

    positional: list[Any]
    keywords: dict[str, Any]
    is_complete: bool
    """Whether none is hidden in ``*`` or ``**``."""

    def get(self, position: int | None, *keywords: str) -> Any:
        """Return the argument given by position or by one of the keywords; None where it is absent."""
        if position is not None and position < len(self.positional):
            return self.positional[position]
        found = (self.keywords[keyword] for keyword in keywords if keyword in self.keywords)
        return next((value for value in found if value is not None), None)


class DistributedCalls(Expressions):
    """Evaluates calls of torch's functions; those of torch.distributed leave their operations in the trace."""

    def _call_torch(self, name: str, arguments: Arguments, node: ast.Call) -> Any:
        called = name.rpartition(".")[2]
        if name in ("os.environ.get", "os.getenv") and arguments.positional:
            return self._read_environment(arguments.positional[0])
        if not name.startswith("torch.distributed"):
            on_cpu = self._makes_on_cpu(called, arguments, node)
            return (CpuTensor if on_cpu else Opaque)(self.program.text(node))
        if called in SINGLE:
            return self._issue_single(called, arguments, node)
        if called in COLLECTIVES:
            operation = Operation(
                self.rank, self._to_group(arguments.get(None, "group")), node, collective=called
            )
            return self._post_operation(operation, is_async=arguments.get(None, "async_op") is True)
        handler = getattr(self, "_call_" + called.lower(), None)
        if handler is not None:
            return handler(arguments, node)
        if called in ("get_global_rank", "get_group_rank") and len(arguments.positional) == 2:
            return arguments.positional[1]
        ranks = list(range(self.world.size))
        known = {"get_world_size": self.world.size, "get_process_group_ranks": ranks, "get_backend": "nccl"}
        known |= dict.fromkeys(("get_rank", "get_node_local_rank"), self.rank)
        known |= dict.fromkeys(("is_initialized", "is_available", "is_nccl_available"), True)
        return known.get(called, self._make_opaque(node))

    def _call_init_process_group(self, arguments: Arguments, node: ast.Call) -> None:
        self._world_group = Group("world", channels_of(arguments.get(0, "backend")))
        self._is_confirmed |= isinstance(arguments.get(None, "rank"), Assumed)

    def _call_new_group(self, arguments: Arguments, node: ast.Call) -> Group:
        backend = arguments.get(2, "backend")
        self._group_count += 1  # all ranks create their groups in the same order
        key = f"new {node.lineno} {self._group_count}"
        return Group(key, channels_of(backend) if backend is not None else self._world_group.channels)

    def _call_p2pop(self, arguments: Arguments, node: ast.Call) -> Operation:
        op = arguments.get(0, "op")
        called = op.name.rpartition(".")[2] if isinstance(op, TorchName) else ""
        if called not in ("isend", "irecv"):
            raise Unclear
        group = self._to_group(arguments.get(3, "group"), arguments.get(1, "tensor"))
        transfer = Transfer(
            called == "isend", self.rank, self._to_rank(arguments.get(2, "peer", "group_peer"))
        )
        return Operation(self.rank, group, node, (transfer,))

    def _call_batch_isend_irecv(self, arguments: Arguments, node: ast.Call) -> Any:
        given = arguments.get(0, "p2p_op_list")
        operations = (
            [one for one in given if isinstance(one, Operation)] if isinstance(given, (list, tuple)) else []
        )
        if not operations or len(operations) < len(given):
            raise Unclear
        transfers = [transfer for operation in operations for transfer in operation.transfers]
        return [
            self._post_operation(Operation(self.rank, operations[0].group, node, transfers, is_batch=True))
        ]

    def _issue_single(self, called: str, arguments: Arguments, node: ast.Call) -> Any:
        tensor = arguments.get(0, "tensor")
        keywords = ("dst", "group_dst") if "send" in called else ("src", "group_src")
        peer = arguments.get(1, *keywords)
        if tensor is None or not arguments.is_complete:
            raise Unclear
        group = self._to_group(arguments.get(2, "group"), tensor)
        transfer = Transfer("send" in called, self.rank, self._to_rank(peer))
        is_assumed = not self._is_confirmed and (self._is_assuming or isinstance(peer, Assumed))
        operation = Operation(self.rank, group, node, (transfer,), is_assumed=is_assumed)
        operation.has_known_peer, operation.is_blocking = isinstance(peer, int), called in ("send", "recv")
        return self._post_operation(operation, is_async=not operation.is_blocking)

    def _post_operation(self, operation: Operation, *, is_async: bool = True) -> Operation | None:
        self.trace.append(operation)
        if is_async:
            return operation
        self.trace.append(Wait(operation))
        return None

    def _to_rank(self, peer: Any) -> int:
        if isinstance(peer, int) and not isinstance(peer, bool):
            return int(peer)
        # One unknown peer makes pairs of ranks; a second one would have to be related to the first.
        if isinstance(peer, Opaque) and self._has_partner and self._partner in (None, peer.key):
            self._partner = peer.key
            return self.rank ^ 1
        raise Unclear

    def _to_group(self, value: Any, tensor: Any = None) -> Group:
        """Return the group that a value stands for; the half of it that gloo has, for a tensor on the CPU."""
        group = self._world_group
        if isinstance(value, Group):
            group = value
        elif isinstance(value, Opaque):
            group = Group(value.key, Channels.DIRECTION if is_cpu_group_name(value.key) else None)
        elif value is not None and not isinstance(value, TorchName):
            raise Unclear
        if group.channels is None and isinstance(tensor, CpuTensor):
            return Group((group.key, "cpu"), Channels.DIRECTION)
        return group

    def _stays_on_cpu(self, owner: Opaque, method: str, node: ast.Call) -> bool:
        """Return whether a method of a tensor gives a tensor on the CPU."""
        given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "device")]
        if method == "cpu" or (
            method == "to" and any(_is_cpu(self.evaluate(argument)) for argument in given)
        ):
            return True
        return isinstance(owner, CpuTensor) and method not in _MOVING

    def _makes_on_cpu(self, called: str, arguments: Arguments, node: ast.Call) -> bool:
        """Return whether a function of torch gives a tensor on the CPU, or the CPU device."""
        given = arguments.positional
        if called in _FROM_HOST or (
            called.endswith("_like") and any(isinstance(a, CpuTensor) for a in given)
        ):
            return True
        if called == "device" or "device" in arguments.keywords:
            return any(map(_is_cpu, given if called == "device" else [arguments.keywords["device"]]))
        literal = bool(node.args) and isinstance(node.args[0], (ast.Constant, ast.List))
        makes = called in _FACTORIES or (called == "tensor" and literal)
        return makes and "**" not in arguments.keywords and self.program.makes_tensors_on_cpu


def _is_cpu(value: Any) -> bool:
    return isinstance(value, CpuTensor) or (isinstance(value, str) and value.partition(":")[0] == "cpu")
