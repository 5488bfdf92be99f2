"""A model of communicators: which of the operations that the ranks issue wait for each other, and which wait forever.

A group of torch 2.15's `nccl` is one communicator: its operations run in the order in which they are issued, and a
send completes when the other side has reached the matching receive. Before 2.15 (and with `nccl-lazy`) every pair of
ranks had a communicator of its own for single operations. A batch counts as one operation.

Source: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/p2p.html,
https://pytorch.org/blog/pytorch-2-12-release-blog/.
"""

from __future__ import annotations

import ast
import enum
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field


class Channels(enum.Enum):
    """The operations of one group that share a queue."""

    GROUP = enum.auto()
    """All operations."""
    PAIR = enum.auto()
    """Single operations between the same two ranks; batches and collectives share another queue."""
    DIRECTION = enum.auto()
    """Single operations from one rank to another, as with gloo."""


@dataclass(frozen=True)
class SimulatedGroup:
    """A process group; ``channels`` is None where the simulated torch version decides."""

    key: Hashable
    channels: Channels | None = None


@dataclass(frozen=True, eq=False)
class Transfer:
    """One side of a message: a send or a receive."""

    is_send: bool
    rank: int
    peer: int

    @property
    def edge(self) -> tuple[int, int]:
        """The sending and the receiving rank."""
        return (self.rank, self.peer) if self.is_send else (self.peer, self.rank)


@dataclass(eq=False)
class Operation:
    """What one rank issues in one call: a transfer, a batch of transfers, or a collective."""

    rank: int
    group: SimulatedGroup
    node: ast.Call
    transfers: Sequence[Transfer] = ()
    is_batch: bool = False
    collective: str = ""
    is_assumed: bool = False
    """Whether it depends on variables that only their names show to be ranks."""
    has_known_peer: bool = True
    """Whether the peer is more than the one partner that each rank is assumed to have."""
    is_blocking: bool = False
    """Whether it is a `send` or a `recv`."""

    def select_queue(self, channels: Channels) -> Hashable:
        """Return the key of the queue that the operation waits in."""
        channels = self.group.channels or channels
        if self.collective or self.is_batch or channels is Channels.GROUP:
            return self.group, "group"
        (edge,) = (transfer.edge for transfer in self.transfers)
        return self.group, frozenset(edge) if channels is Channels.PAIR else edge


@dataclass(frozen=True)
class WaitPoint:
    """A point where the rank waits until an operation is done."""

    operation: Operation


Trace = list["Operation | WaitPoint"]


@dataclass(frozen=True)
class Deadlock:
    """A state in which nothing can move: the operations at the heads of the queues, and all queued operations."""

    heads: list[Operation]
    queued: list[Operation]


@dataclass
class SimulationOutcome:
    """The outcome of simulating the traces of all ranks.

    After a deadlock the run continues as if everything queued had been one batch, so there may be several deadlocks.
    ``serialised`` holds pairs of operations that would have overlapped with a communicator per pair of ranks, and
    ``matched`` the two sides of each completed message.
    """

    deadlocks: list[Deadlock] = field(default_factory=list)
    serialised: list[tuple[Operation, Operation]] = field(default_factory=list)
    matched: list[tuple[Operation, Operation]] = field(default_factory=list)


def is_closed(traces: Sequence[Trace]) -> bool:
    """Return whether every send has its receive, and every rank takes part in the same collectives."""
    unmatched: Counter[Hashable] = Counter()
    collectives = []
    for trace in traces:
        operations = [step for step in trace if isinstance(step, Operation)]
        collectives.append(Counter((o.group, o.collective) for o in operations if o.collective))
        for operation in operations:
            for transfer in operation.transfers:
                if transfer.peer == operation.rank or not 0 <= transfer.peer < len(traces):
                    return False
                unmatched[operation.group, transfer.edge] += 1 if transfer.is_send else -1
    return not any(unmatched.values()) and all(own == collectives[0] for own in collectives)


class CommunicatorSimulation:
    """A simulation of the operations that the ranks issue, each rank as far as it gets. The traces must be closed."""

    def __init__(self, traces: Sequence[Trace], channels: Channels) -> None:
        self.channels = channels
        self.traces = traces
        self.next_steps = [0] * len(traces)
        self.queued: list[Operation] = []
        self.in_flight: list[list[Operation]] = [[] for _ in traces]
        self.done: set[Operation] = set()
        self.transferred: set[Transfer] = set()
        self.outcome = SimulationOutcome()

    def run_all(self) -> SimulationOutcome:
        """Run the traces to their ends."""
        while True:
            advanced = [self._advance_rank(rank) for rank in range(len(self.traces))]
            if self._complete_heads() or any(advanced):
                continue
            # All ranks wait or are at their end.
            if not self.queued:
                return self.outcome
            heads = [head for queue in self._find_heads() for head in queue]
            deadlock = Deadlock(heads, list(self.queued))
            self.outcome.deadlocks.append(deadlock)
            while not self._force_queued():
                # A trap of blocking calls alone consists of those that they keep from being reached, too.
                following = [
                    step for head in heads if head.is_blocking for step in self._skip_wait(head.rank)
                ]
                if not following:
                    return self.outcome
                deadlock.queued.extend(following)

    def _advance_rank(self, rank: int) -> bool:
        """Let one rank issue operations until it has to wait; return whether it got any further."""
        start, trace = self.next_steps[rank], self.traces[rank]
        for step in trace[start:]:
            if isinstance(step, WaitPoint):
                if step.operation in self.in_flight[rank]:
                    self.in_flight[rank].remove(step.operation)
                if step.operation not in self.done:
                    break
            else:
                self._issue_operation(step)
            self.next_steps[rank] += 1
        return self.next_steps[rank] > start

    def _skip_wait(self, rank: int) -> list[Operation]:
        """Issue the next operation of a rank that waits for an earlier one, as if it did not wait."""
        trace = self.traces[rank]
        for index in range(self.next_steps[rank], len(trace)):
            step = trace[index]
            if isinstance(step, Operation):
                self.next_steps[rank] = index + 1
                self.in_flight[rank].clear()
                self._issue_operation(step)
                return [step]
        return []

    def _issue_operation(self, operation: Operation) -> None:
        for other in self.in_flight[operation.rank]:
            one, two = (o.select_queue(self.channels) for o in (other, operation))
            # With a communicator per pair of ranks, these two would run at the same time.
            if one == two and other.select_queue(Channels.PAIR) != operation.select_queue(Channels.PAIR):
                self.outcome.serialised.append((other, operation))
        self.in_flight[operation.rank].append(operation)
        self.queued.append(operation)

    def _find_heads(self) -> list[list[Operation]]:
        """Return, for each queue, the first operation of every rank that has one in it."""
        queues: dict[Hashable, dict[int, Operation]] = {}
        for operation in self.queued:
            queues.setdefault(operation.select_queue(self.channels), {}).setdefault(operation.rank, operation)
        return [list(queue.values()) for queue in queues.values()]

    def _complete_heads(self) -> bool:
        moved = False
        for heads in self._find_heads():
            moved |= self._match_transfers(heads)
            names = {head.collective for head in heads}
            if len(heads) == len(self.traces) and len(names) == 1 and "" not in names:
                self.done.update(heads)
        before = len(self.queued)
        self.queued = [operation for operation in self.queued if operation not in self.done]
        return moved or len(self.queued) < before

    def _match_transfers(self, operations: Iterable[Operation]) -> bool:
        """Complete the transfers that have both sides among the operations, each direction in its order."""
        sides: dict[bool, dict[tuple[int, int], list[tuple[Transfer, Operation]]]]
        sides = {True: defaultdict(list), False: defaultdict(list)}
        for operation in operations:
            for transfer in operation.transfers:
                if transfer not in self.transferred:
                    sides[transfer.is_send][transfer.edge].append((transfer, operation))
        pairs = [
            pair for edge in sides[True] for pair in zip(sides[True][edge], sides[False][edge], strict=False)
        ]
        for (send, sender), (receive, receiver) in pairs:
            self.transferred |= {send, receive}
            self.outcome.matched.append((sender, receiver))
        self.done.update(o for o in operations if o.transfers and self.transferred.issuperset(o.transfers))
        return bool(pairs)

    def _force_queued(self) -> bool:
        """Treat all queued operations as one batch; return whether that moved anything."""
        groups = {operation.group for operation in self.queued}
        moved = [self._match_transfers([o for o in self.queued if o.group == group]) for group in groups]
        self.queued = [operation for operation in self.queued if operation not in self.done]
        return any(moved)
