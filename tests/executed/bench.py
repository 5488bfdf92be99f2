"""Runs a program written against `torch.distributed`, one thread per rank, on the model in `communicator`.

The program is real and unchanged: it calls the functions of the installed torch, which end in a Python process
group. One rank runs at a time. What is global in a process (the groups of torch.distributed, the environment) is
exchanged whenever another rank takes its turn, so each rank sees a process of its own. A rank gives up its turn only
when it waits for an operation that cannot run yet. When no rank can take a turn, no operation can ever run again:
that, and not the passing of time, is what the bench calls a deadlock.

A wait blocks the rank, while NCCL's wait blocks the current CUDA stream. For what hangs and what does not, the two
are the same: whatever a rank issues after a wait runs on a stream that waits too. Tensors live on the CPU.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Literal

import torch
import torch.distributed
from torch.testing._internal.distributed.multi_threaded_pg import WorldData as _WorldData

from .communicator import Channels, Communicators, Operation, Transfer, Wait

# The bench lives on what torch keeps private, and its stubs leave out.
dist: Any = torch.distributed
c10d: Any = torch.distributed.distributed_c10d
bindings: Any = torch._C._distributed_c10d
WorldData: Any = _WorldData

_BACKENDS = {
    "gloo": Channels.DIRECTION,
    "nccl-lazy": Channels.PAIR,
    "nccl-legacy": Channels.PAIR,
    "nccl2": Channels.GROUP,
}


@dataclass(frozen=True)
class Serialised:
    """Two operations that a rank had in flight together, on one channel here, on two under `Channels.PAIR`."""

    rank: int
    group: str
    earlier: str
    later: str

    def __str__(self) -> str:
        return f"rank {self.rank}: {self.later} on group {self.group} starts only after {self.earlier}"


@dataclass
class Outcome:
    """What became of a program.

    results: by rank, what it returned; None where it did not return.
    deadlock: who waits for what; also for a rank that returned without waiting, since whatever uses the device
        afterwards waits. Empty when every operation ran.
    serialised: what would have overlapped with a communicator per pair of ranks.
    races: sends whose tensor was changed before they had been received.
    """

    results: list[Any]
    deadlock: list[Wait] = field(default_factory=list)
    serialised: list[Serialised] = field(default_factory=list)
    races: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Literal["hangs", "serialised", "completes"]:
        """The program hangs; or completes, but merely one operation after another; or completes."""
        if self.deadlock:
            return "hangs"
        return "serialised" if self.serialised else "completes"

    def __str__(self) -> str:
        return "\n".join([self.verdict, *map(str, self.deadlock), *map(str, self.serialised), *self.races])


def run(program: Callable[[], Any], ranks: int, channels: Channels = Channels.GROUP) -> Outcome:
    """Run `program` once per rank and say what became of it.

    `program` calls `init_process_group` like any other; RANK, LOCAL_RANK and WORLD_SIZE are in its environment.
    `channels` is what the backend "nccl" means: under `Channels.GROUP` a new group of the same backend is, as in
    torch 2.15, split from the default group, which all ranks must take part in. An exception of any rank ends the
    run and is raised here.
    """
    return _Bench(program, ranks, channels).run()


class _Stop(BaseException):
    """Unwinds a rank's thread when the run is over."""


class _Rank:
    """One rank: its thread, and what is global in its process."""

    def __init__(self, rank: int, size: int, main: Callable[[], None]) -> None:
        self.rank = rank
        self.world = WorldData(None, {}, {}, {}, {}, 0, {}, {}, {}, [])
        self.environment = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(size)}
        self.waits_for: Operation | None = None
        self.finished = False
        self.error: BaseException | None = None
        self.in_flight: list[Operation] = []
        self.turn = threading.Semaphore(0)
        self.thread = threading.Thread(target=main, daemon=True, name=f"rank {rank}")

    @property
    def ready(self) -> bool:
        return not self.finished and (self.waits_for is None or self.waits_for.done)

    @property
    def stuck(self) -> Operation | None:
        """When no rank is ready: what this one waits for, or issued and never waited for, that cannot run."""
        if not self.finished:
            return self.waits_for
        return next((operation for operation in self.in_flight if not operation.done), None)


class _Bench:
    """One run of a program."""

    def __init__(self, program: Callable[[], Any], size: int, channels: Channels) -> None:
        self.program = program
        self.size = size
        self.channels = channels
        self.communicators = Communicators()
        self.store = dist.HashStore()
        self.stopped = False
        self.outcome = Outcome([None] * size)
        self.back = threading.Semaphore(0)
        self.ranks = [_Rank(rank, size, self._main) for rank in range(size)]
        self.current = self.ranks[0]

    def run(self) -> Outcome:
        with _patched(self):
            try:
                for rank in self.ranks:
                    self._give_turn(rank)
                while ready := [rank for rank in self.ranks if rank.ready]:
                    for rank in ready:
                        self._give_turn(rank)
                stuck = [operation for rank in self.ranks if (operation := rank.stuck)]
                self.outcome.deadlock = [self.communicators.wait(operation) for operation in stuck]
            finally:
                self._stop()
        return self.outcome

    def _give_turn(self, rank: _Rank) -> None:
        """Let one rank run until it waits or ends, and then every operation that can."""
        self._resume(rank)
        self.back.acquire()
        if rank.error is not None:
            raise rank.error
        self.communicators.progress()

    def _resume(self, rank: _Rank) -> None:
        self.current = rank
        c10d._world = rank.world
        os.environ.update(rank.environment)
        if rank.thread.ident is None:
            rank.thread.start()
        else:
            rank.turn.release()

    def _stop(self) -> None:
        """End the threads of the ranks that still wait."""
        self.stopped = True
        for rank in self.ranks:
            if rank.thread.is_alive():
                self._resume(rank)
                rank.thread.join()

    def _main(self) -> None:
        """The body of a rank's thread."""
        rank = self.current
        bindings._set_thread_isolation_mode(True)
        try:
            self.outcome.results[rank.rank] = self.program()
        except _Stop:
            pass
        except BaseException as error:
            rank.error = error
        finally:
            rank.finished = True
            self.back.release()

    def issue(self, operation: Operation) -> _Request:
        """Queue an operation of the current rank."""
        rank = self.current
        if self.stopped:
            raise _Stop
        rank.in_flight = [other for other in rank.in_flight if not other.waited]
        for other in rank.in_flight:
            if other.group == operation.group and self._serialises(other, operation):
                self.outcome.serialised.append(
                    Serialised(rank.rank, operation.group, str(other), str(operation))
                )
        rank.in_flight.append(operation)
        self.communicators.issue(operation)
        return _Request(self, operation)

    @staticmethod
    def _serialises(earlier: Operation, later: Operation) -> bool:
        together = earlier.channel(later.channels) == later.channel(later.channels)
        return together and earlier.channel(Channels.PAIR) != later.channel(Channels.PAIR)

    def wait(self, operation: Operation) -> None:
        """Hold the current rank until an operation is done."""
        rank = self.current
        operation.waited = True
        while not operation.done:
            rank.waits_for = operation
            self.back.release()
            rank.turn.acquire()
            if self.stopped:
                raise _Stop
        rank.waits_for = None

    def channels_of(self, backend: str) -> Channels:
        """What a backend's groups have for channels."""
        return _BACKENDS.get(_accelerator_backend(backend), self.channels)


class _Request(dist.Work):  # type: ignore[misc]
    """What isend, irecv and asynchronous collectives return."""

    def __init__(self, bench: _Bench, operation: Operation) -> None:
        super().__init__()
        self._bench = bench
        self._operation = operation

    def wait(self, timeout: timedelta | None = None) -> bool:
        self._bench.wait(self._operation)
        return True

    def is_completed(self) -> bool:
        """Does not give up the turn, so a rank that asks until the answer is yes never ends."""
        return self._operation.done


class _Group(dist.ProcessGroup):  # type: ignore[misc]
    """The process group of one rank: turns calls into operations."""

    def __init__(self, bench: _Bench, name: str, backend: str, rank: int, members: Sequence[int]) -> None:
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

    def send(self, tensors: list[torch.Tensor], peer: int, tag: int = 0) -> _Request | None:
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

    def recv(self, tensors: list[torch.Tensor], peer: int, tag: int = 0) -> _Request | None:
        return self._transfer(Transfer("recv", peer, tensors[0].detach(), deliver=lambda _: None))

    def recv_anysource(self, tensors: list[torch.Tensor], tag: int = 0) -> _Request:
        raise RuntimeError("NCCL cannot receive from any source: name the sender")

    def _transfer(self, transfer: Transfer) -> _Request | None:
        if self._batch is None:
            return self._issue(transfers=[transfer])
        self._batch.append(transfer)
        return None

    def _start_coalescing(self, device: torch.device) -> None:
        self._batch = []

    def _end_coalescing(self, device: torch.device) -> _Request | None:
        transfers, self._batch = self._batch, None
        return self._issue(transfers=transfers, batched=True) if transfers else None

    def _issue(self, **what: Any) -> _Request:
        channels = self._bench.channels_of(self._backend)
        return self._bench.issue(Operation(self._name, self._members, self.rank(), channels=channels, **what))

    def _collective(self, name: str, payload: Any, combine: Callable[[list[Any]], None]) -> _Request:
        def on_parts(parts: list[Operation]) -> None:
            with torch.no_grad():
                combine([part.payload for part in parts])

        return self._issue(collective=name, payload=payload, combine=on_parts)

    def barrier(self, opts: Any = None) -> _Request:
        return self._collective("barrier", None, lambda _: None)

    def broadcast(self, tensors: list[torch.Tensor], opts: Any) -> _Request:
        def combine(parts: list[torch.Tensor]) -> None:
            for part in parts:
                part.copy_(parts[opts.rootRank])

        return self._collective(f"broadcast from {opts.rootRank}", tensors[0].detach(), combine)

    def allreduce(self, tensors: list[torch.Tensor], opts: Any) -> _Request:
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
    ) -> _Request:
        def combine(parts: list[tuple[list[torch.Tensor], torch.Tensor]]) -> None:
            for gathered, _ in parts:
                for output, (_, source) in zip(gathered, parts, strict=True):
                    output.detach().copy_(source)

        return self._collective("all_gather", (outputs[0], inputs[0].detach()), combine)


@contextmanager
def _patched(bench: _Bench) -> Iterator[None]:
    """Put the bench under torch.distributed: how a group is made, and how a batch is recognised."""
    initialise = c10d.init_process_group

    def init_process_group(backend: str | None = None, *_: Any, **arguments: Any) -> None:
        initialise(backend or "nccl", store=bench.store, rank=bench.current.rank, world_size=bench.size)

    def new_group_helper(
        size: int, rank: int | None, members: list[int], backend: str, store: Any, name: str, **_: Any
    ) -> tuple[Any, Any]:
        default = bench.current.world.default_pg
        if isinstance(default, _Group) and _splits(bench, default, backend):
            default._collective("split", None, lambda _: None).wait()
        if rank is None:
            return dist.GroupMember.NON_GROUP_MEMBER, None
        group = _Group(bench, name, backend, rank, members or range(size))
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


def _accelerator_backend(backend: str) -> str:
    """The half of "cpu:gloo,cuda:nccl" that counts here, or the backend itself."""
    by_device = dict(part.split(":") for part in backend.split(",") if ":" in part)
    return by_device.get("cuda", backend)


def _splits(bench: _Bench, default: _Group, backend: str) -> bool:
    """Whether a new group is split from the default group, as nccl does in torch 2.15.

    Source: `_get_split_source` in torch/distributed/distributed_c10d.py, torch 2.15.0: the default group is bound to
    a device, and the backend's name is that of the default group.
    """
    same = _accelerator_backend(backend) == _accelerator_backend(default._backend)
    return same and bench.channels_of(backend) is Channels.GROUP
