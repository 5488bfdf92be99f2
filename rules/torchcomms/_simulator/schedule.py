"""What becomes of operations that several ranks issue: which wait for each other, and for ever.

A group of torch 2.15's `nccl` is one communicator: its operations run in the order in which they are issued, and a
send completes when its receive has been reached on the other side. Before 2.15 (and with `nccl-lazy`) every pair of
ranks had a communicator of its own for single operations. A batch is one operation.

Source: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/p2p.html,
https://pytorch.org/blog/pytorch-2-12-release-blog/.
"""

from __future__ import annotations

import ast
import enum
from collections import Counter, deque
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field


class Channels(enum.Enum):
    """What operations of one group share one queue."""

    GROUP = enum.auto()
    """All of them."""
    PAIR = enum.auto()
    """Single operations between the same two ranks; and batches and collectives."""
    DIRECTION = enum.auto()
    """Single operations from one rank to another, as with gloo."""


@dataclass(frozen=True)
class Group:
    """A process group; ``channels`` is None where the run decides."""

    key: Hashable
    channels: Channels | None = None


@dataclass(frozen=True)
class Transfer:
    """A send or a receive."""

    is_send: bool
    peer: int
    node: ast.Call


@dataclass(eq=False)
class Operation:
    """What one rank issues in one call: a transfer, a batch of them, or a collective."""

    rank: int
    group: Group
    node: ast.Call
    transfers: Sequence[Transfer] = ()
    batched: bool = False
    collective: str = ""
    is_assumed: bool = False
    """Whether it depends on ranks that only their names tell."""

    def channel(self, channels: Channels) -> Hashable:
        """The queue of its group that it stands in."""
        channels = self.group.channels or channels
        if self.collective or self.batched or channels is Channels.GROUP:
            return "group"
        (transfer,) = self.transfers
        if channels is Channels.PAIR:
            return frozenset((self.rank, transfer.peer))
        return (self.rank, transfer.peer) if transfer.is_send else (transfer.peer, self.rank)


@dataclass(frozen=True)
class Wait:
    """The rank goes on when an operation is done."""

    operation: Operation


Trace = list["Operation | Wait"]


@dataclass(frozen=True)
class Deadlock:
    """Nothing can move: the operations at the heads of the queues, and all that stand in them."""

    heads: list[Operation]
    queued: list[Operation]


@dataclass
class Outcome:
    """What became of the traces of all ranks.

    After a deadlock the run goes on as if everything queued had been one batch, so that there may be several.
    ``serialised`` are pairs that would have overlapped with a communicator per pair of ranks.
    """

    deadlocks: list[Deadlock] = field(default_factory=list)
    serialised: list[tuple[Operation, Operation]] = field(default_factory=list)


def is_closed(traces: Sequence[Trace]) -> bool:
    """Whether every send has its receive, and every rank takes part in the same collectives."""
    sent: Counter[Hashable] = Counter()
    collectives = []
    for trace in traces:
        operations = [step for step in trace if isinstance(step, Operation)]
        collectives.append(Counter((o.group, o.collective) for o in operations if o.collective))
        for operation in operations:
            for transfer in operation.transfers:
                here, there = operation.rank, transfer.peer
                if here == there or not 0 <= there < len(traces):
                    return False
                edge = (here, there) if transfer.is_send else (there, here)
                sent[operation.group, edge] += 1 if transfer.is_send else -1
    return not any(sent.values()) and all(own == collectives[0] for own in collectives)


def run(traces: Sequence[Trace], channels: Channels) -> Outcome:
    """Issues what the ranks issue, in order, each as far as it comes. The traces must be closed."""
    return _Run(traces, channels).run()


class _Run:
    def __init__(self, traces: Sequence[Trace], channels: Channels) -> None:
        self.channels = channels
        self.left = [deque(trace) for trace in traces]
        self.done: set[Operation] = set()
        self.transferred: set[tuple[Operation, int]] = set()
        self.queues: dict[Hashable, dict[int, deque[Operation]]] = {}
        self.in_flight: list[list[Operation]] = [[] for _ in traces]
        self.outcome = Outcome()

    def run(self) -> Outcome:
        while True:
            moved = [self._advance(rank) for rank in range(len(self.left))]
            if self._progress() or any(moved):
                continue
            queues = [queue for queues in self.queues.values() for queue in queues.values() if queue]
            if not queues:
                return self.outcome
            queued = [operation for queue in queues for operation in queue]
            self.outcome.deadlocks.append(Deadlock([queue[0] for queue in queues], queued))
            if not self._force(queued):
                return self.outcome

    def _advance(self, rank: int) -> bool:
        """Lets one rank issue operations until it waits."""
        moved = False
        trace = self.left[rank]
        while trace:
            step = trace[0]
            if isinstance(step, Wait):
                if step.operation in self.in_flight[rank]:
                    self.in_flight[rank].remove(step.operation)
                if step.operation not in self.done:
                    return moved
            else:
                self._issue(step)
            trace.popleft()
            moved = True
        return moved

    def _issue(self, operation: Operation) -> None:
        flying = self.in_flight[operation.rank]
        for other in flying:
            together = other.channel(self.channels) == operation.channel(self.channels)
            if (
                other.group == operation.group
                and together
                and operation.channel(Channels.PAIR) != other.channel(Channels.PAIR)
            ):
                self.outcome.serialised.append((other, operation))
        flying.append(operation)
        queue = (operation.group, operation.channel(self.channels))
        self.queues.setdefault(queue, {}).setdefault(operation.rank, deque()).append(operation)

    def _progress(self) -> bool:
        moved = False
        for queues in self.queues.values():
            heads = {rank: queue[0] for rank, queue in queues.items() if queue}
            moved |= self._match(heads.values())
            self._collect(list(heads.values()))
            for queue in queues.values():
                while queue and queue[0] in self.done:
                    queue.popleft()
                    moved = True
        return moved

    def _match(self, operations: Iterable[Operation]) -> bool:
        """Completes the transfers whose two sides are both among the operations, each direction in its order."""
        waiting: dict[tuple[bool, int, int], deque[tuple[Operation, int]]] = {}
        for operation in operations:
            for index, transfer in enumerate(operation.transfers):
                if (operation, index) not in self.transferred:
                    here, there = operation.rank, transfer.peer
                    edge = (here, there) if transfer.is_send else (there, here)
                    waiting.setdefault((transfer.is_send, *edge), deque()).append((operation, index))
        moved = False
        for (is_send, sender, receiver), sends in waiting.items():
            receives = waiting.get((False, sender, receiver), deque()) if is_send else deque()
            for pair in zip(sends, receives, strict=False):
                self.transferred.update(pair)
                moved = True
        for operation in operations:
            indices = range(len(operation.transfers))
            if operation.transfers and all((operation, index) in self.transferred for index in indices):
                self.done.add(operation)
        return moved

    def _collect(self, heads: list[Operation]) -> None:
        names = {head.collective for head in heads}
        if len(heads) == len(self.left) and len(names) == 1 and "" not in names:
            self.done.update(heads)

    def _force(self, queued: list[Operation]) -> bool:
        """Treats everything that is queued as one batch; False if not even that moves."""
        moved = False
        for group in {operation.group for operation in queued}:
            moved |= self._match([operation for operation in queued if operation.group == group])
        for queues in self.queues.values():
            for rank, queue in queues.items():
                queues[rank] = deque(operation for operation in queue if operation not in self.done)
        return moved
