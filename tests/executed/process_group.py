"""What stands in for torch's backends on the bench: requests, process groups, and the functions that make them."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed

from .communicator import Channels, Operation, Transfer

if TYPE_CHECKING:
    from .bench import Bench

# The bench lives on what torch keeps private, and its stubs leave out.
dist: Any = torch.distributed
c10d: Any = torch.distributed.distributed_c10d


class Request(dist.Work):  # type: ignore[misc]
    """What isend, irecv and asynchronous collectives return."""

    def __init__(self, bench: Bench, operation: Operation) -> None:
        super().__init__()
        self._bench = bench
        self._operation = operation

    def wait(self, timeout: timedelta | None = None) -> bool:
        self._bench.wait(self._operation)
        return True

    def is_completed(self) -> bool:
        """Does not give up the turn, so a rank that asks until the answer is yes never ends."""
        return self._operation.done


class Group(dist.ProcessGroup):  # type: ignore[misc]
    """The process group of one rank: turns calls into operations."""

    def __init__(self, bench: Bench, name: str, backend: str, rank: int, members: Sequence[int]) -> None:
        super().__init__(rank, len(members))
        self._bench = bench
        self._name = name
        self._backend = backend
        self._members = members
        self._batch: list[Transfer] | None = None

    @property
    def group_name(self) -> str:
        return self._name

    @property
    def _device_types(self) -> list[torch.device]:
        return [torch.device("cpu")]

    def shutdown(self) -> None:
        """Nothing is held."""

    def send(self, tensors: list[torch.Tensor], peer: int, tag: int = 0) -> Request | None:
        content = tensors[0].detach().clone()
        sender = self._members[self.rank()]

        def deliver(receive: Transfer) -> None:
            target = receive.payload
            assert isinstance(target, torch.Tensor)
            if not torch.equal(content, tensors[0]):
                self._bench.outcome.races.append(f"rank {sender} changed a tensor before it was received")
            if target.shape.numel() != content.shape.numel():
                raise RuntimeError(
                    f"sent {tuple(content.shape)}, but the receive expects {tuple(target.shape)}"
                )
            with torch.no_grad():
                target.copy_(content.view_as(target))

        return self._transfer(Transfer("send", peer, tensors[0], deliver))

    def recv(self, tensors: list[torch.Tensor], peer: int, tag: int = 0) -> Request | None:
        return self._transfer(Transfer("recv", peer, tensors[0].detach(), deliver=lambda _: None))

    def recv_anysource(self, tensors: list[torch.Tensor], tag: int = 0) -> Request:
        raise RuntimeError("NCCL cannot receive from any source: name the sender")

    def _transfer(self, transfer: Transfer) -> Request | None:
        if self._batch is None:
            return self._issue(transfers=[transfer])
        self._batch.append(transfer)
        return None

    def _start_coalescing(self, device: torch.device) -> None:
        self._batch = []

    def _end_coalescing(self, device: torch.device) -> Request | None:
        transfers, self._batch = self._batch, None
        return self._issue(transfers=transfers, batched=True) if transfers else None

    def _issue(self, **what: Any) -> Request:
        channels = self._bench.channels_of(self._backend)
        return self._bench.issue(Operation(self._name, self._members, self.rank(), channels=channels, **what))

    def _collective(self, name: str, payload: Any, combine: Callable[[list[Any]], None]) -> Request:
        def on_parts(parts: list[Operation]) -> None:
            with torch.no_grad():
                combine([part.payload for part in parts])

        return self._issue(collective=name, payload=payload, combine=on_parts)

    def barrier(self, opts: Any = None) -> Request:
        return self._collective("barrier", None, lambda _: None)

    def broadcast(self, tensors: list[torch.Tensor], opts: Any) -> Request:
        def combine(parts: list[torch.Tensor]) -> None:
            for part in parts:
                part.copy_(parts[opts.rootRank])

        return self._collective(f"broadcast from {opts.rootRank}", tensors[0].detach(), combine)

    def allreduce(self, tensors: list[torch.Tensor], opts: Any) -> Request:
        reduce: dict[Any, Any] = {
            dist.ReduceOp.SUM: torch.sum,
            dist.ReduceOp.MAX: torch.amax,
            dist.ReduceOp.MIN: torch.amin,
        }

        def combine(parts: list[torch.Tensor]) -> None:
            total = reduce[opts.reduceOp.op](torch.stack(parts), dim=0)
            for part in parts:
                part.copy_(total)

        return self._collective("all_reduce", tensors[0].detach(), combine)

    def allgather(
        self, outputs: list[list[torch.Tensor]], inputs: list[torch.Tensor], opts: Any = None
    ) -> Request:
        def combine(parts: list[tuple[list[torch.Tensor], torch.Tensor]]) -> None:
            for gathered, _ in parts:
                for output, (_, source) in zip(gathered, parts, strict=True):
                    output.detach().copy_(source)

        return self._collective("all_gather", (outputs[0], inputs[0].detach()), combine)


@contextmanager
def patched(bench: Bench) -> Iterator[None]:
    """Put the bench under torch.distributed: how a group is made, and how a batch is recognised."""
    initialise = c10d.init_process_group

    def init_process_group(backend: str | None = None, *_: Any, **arguments: Any) -> None:
        initialise(backend or "nccl", store=bench.store, rank=bench.current.rank, world_size=bench.size)

    def new_group_helper(
        size: int, rank: int | None, members: list[int], backend: str, store: Any, name: str, **_: Any
    ) -> tuple[Any, Any]:
        default = bench.current.world.default_pg
        if isinstance(default, Group) and _splits(bench, default, backend):
            default._collective("split", None, lambda _: None).wait()
        if rank is None:
            return dist.GroupMember.NON_GROUP_MEMBER, None
        group = Group(bench, name, backend, rank, members or range(size))
        c10d._register_pg_in_world(group, backend, store, name, backend, add_to_default_tag=True)
        return group, store

    def batch_isend_irecv(operations: list[Any]) -> list[Any]:
        c10d._check_p2p_op_list(operations)
        group = operations[0].group or dist.group.WORLD
        with c10d._coalescing_manager(group, operations[0].tensor.device, async_ops=True) as manager:
            for operation in operations:
                peer = {"group_dst" if operation.op is dist.isend else "group_src": operation.group_peer}
                operation.op(operation.tensor, group=operation.group, tag=operation.tag, **peer)
        works: list[Any] = manager.works
        return works

    replaced = [
        (c10d, "_new_process_group_helper", new_group_helper),
        *((module, "init_process_group", init_process_group) for module in (dist, c10d)),
        *((module, "batch_isend_irecv", batch_isend_irecv) for module in (dist, c10d)),
    ]
    world, hook, environment = c10d._world, sys.excepthook, dict(os.environ)
    kept = [(module, name, getattr(module, name)) for module, name, _ in replaced]
    try:
        for module, name, value in replaced:
            setattr(module, name, value)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Attempted to get default timeout for nccl backend")
            yield
    finally:
        for module, name, value in kept:
            setattr(module, name, value)
        c10d._world, sys.excepthook = world, hook
        os.environ.clear()
        os.environ.update(environment)


def accelerator_backend(backend: str) -> str:
    """The half of "cpu:gloo,cuda:nccl" that counts here, or the backend itself."""
    by_device = dict(part.split(":") for part in backend.split(",") if ":" in part)
    return by_device.get("cuda", backend)


def _splits(bench: Bench, default: Group, backend: str) -> bool:
    """Whether a new group is split from the default group, as nccl does in torch 2.15.

    Source: `_get_split_source` in torch/distributed/distributed_c10d.py, torch 2.15.0: the default group is bound to
    a device, and the backend's name is that of the default group.
    """
    same = accelerator_backend(backend) == accelerator_backend(default._backend)
    return same and bench.channels_of(backend) is Channels.GROUP
