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
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
import torch.distributed
from torch.testing._internal.distributed.multi_threaded_pg import WorldData as _WorldData

from .communicator import Channels, Communicators, Operation, Wait
from .process_group import Request, accelerator_backend, patched

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
    return Bench(program, ranks, channels).run()


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


class Bench:
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
        with patched(self):
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

    def issue(self, operation: Operation) -> Request:
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
        return Request(self, operation)

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
        return _BACKENDS.get(accelerator_backend(backend), self.channels)
