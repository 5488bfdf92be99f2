"""Who may run when: a model of communicators that run their operations in issue order.

An operation is queued, at each rank that takes part, on one *channel* of its group. A channel runs, at each rank,
one operation at a time and in the order in which that rank issued them. A send and its receive complete together,
once both are running (rendezvous). A batch is one operation of several transfers that progress independently; a
collective completes once it is running at every rank of its group.

`Channels` says what shares a channel, and that alone tells the backends apart:

- `GROUP`: everything on a group. "P2P operations issued on the same group/stream will not be guaranteed to run
  concurrently" (PyTorch 2.12 release blog); the default `nccl` of torch 2.15, and `nccl` with `device_id` before.
- `PAIR`: single transfers share a channel with those of the same two ranks, in both directions; batches and
  collectives share the group's. `nccl` without `device_id` before 2.15, and `nccl-lazy`.
- `DIRECTION`: single transfers share a channel with those of one direction between two ranks. `gloo`.

Nothing here waits or knows of threads: `Communicators.issue` and `Communicators.progress` are called by the bench.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field


class Channels(enum.Enum):
    """What shares a communicator, and therefore runs in issue order."""

    GROUP = "one communicator per group"
    PAIR = "one communicator per pair of ranks"
    DIRECTION = "one queue per direction of a pair of ranks"


@dataclass(eq=False)
class Transfer:
    """One side of a point-to-point transfer; ranks are those of the group.

    `deliver` is called on the sending side with the receiving side's transfer, when the two have met.
    """

    kind: str  # "send" or "recv"
    peer: int
    payload: object
    deliver: Callable[[Transfer], None]
    done: bool = False

    def __str__(self) -> str:
        return f"send to {self.peer}" if self.kind == "send" else f"recv from {self.peer}"


@dataclass(eq=False)
class Operation:
    """What one rank issued in one call: a transfer, a batch of them, or its part of a collective."""

    group: str
    members: Sequence[int]  # global ranks, by rank in the group
    rank: int  # in the group
    transfers: list[Transfer] = field(default_factory=list)
    batched: bool = False
    collective: str = ""  # its name, empty for transfers
    payload: object = None
    combine: Callable[[list[Operation]], None] | None = (
        None  # of a collective: called once with every rank's part
    )
    channels: Channels = Channels.GROUP
    done: bool = False
    waited: bool = False  # its issuer has waited for it

    @property
    def issuer(self) -> int:
        """The global rank that issued it."""
        return self.members[self.rank]

    def __str__(self) -> str:
        if self.collective:
            return self.collective
        text = ", ".join(
            f"{transfer.kind} {'to' if transfer.kind == 'send' else 'from'} {self.members[transfer.peer]}"
            for transfer in self.transfers
        )
        return f"batch [{text}]" if self.batched else text

    def channel(self, channels: Channels) -> Hashable:
        """The channel of its group that it runs on, were the group's channels these."""
        if self.collective or self.batched or channels is Channels.GROUP:
            return "group"
        (transfer,) = self.transfers
        if channels is Channels.PAIR:
            return frozenset((self.rank, transfer.peer))
        return (self.rank, transfer.peer) if transfer.kind == "send" else (transfer.peer, self.rank)


@dataclass(frozen=True)
class Wait:
    """One rank of a deadlock: what it waits for, what must finish first, and which ranks would have to move."""

    rank: int
    group: str
    operation: str
    behind: str | None  # the operation at the head of the channel, if it is another
    needs: frozenset[int]

    def __str__(self) -> str:
        behind = f", which is queued behind {self.behind}" if self.behind else ""
        needs = ", ".join(map(str, sorted(self.needs)))
        return f"rank {self.rank} waits for {self.operation} on group {self.group}{behind}; it needs rank {needs}"


class Communicators:
    """The channels of all groups, and the operations queued on them."""

    def __init__(self) -> None:
        self._queues: dict[Hashable, dict[int, deque[Operation]]] = {}

    def issue(self, operation: Operation) -> None:
        """Queue an operation at its rank."""
        self._queue_of(operation).setdefault(operation.rank, deque()).append(operation)

    def progress(self) -> None:
        """Run everything that can run; afterwards nothing more can happen before another `issue`.

        Raises RuntimeError where the ranks of a group run different collectives.
        """
        moved = True
        while moved:
            moved = False
            for queues in list(self._queues.values()):
                heads = {rank: queue[0] for rank, queue in queues.items() if queue}
                if _run(heads):
                    moved = True
                for rank, head in heads.items():
                    if head.done:
                        queues[rank].popleft()

    def wait(self, operation: Operation) -> Wait:
        """Explain why an operation that is not done cannot run, after `progress`."""
        head = self._queue_of(operation)[operation.rank][0]
        if head.collective:
            needs = set(range(len(head.members))) - self._at(head)
        else:
            needs = {transfer.peer for transfer in head.transfers if not transfer.done}
        return Wait(
            rank=operation.issuer,
            group=operation.group,
            operation=str(operation),
            behind=None if head is operation else str(head),
            needs=frozenset(head.members[rank] for rank in needs),
        )

    def _queue_of(self, operation: Operation) -> dict[int, deque[Operation]]:
        # Ranks that each make a group of their own give all of them the same name.
        group = (operation.group, tuple(operation.members))
        return self._queues.setdefault((group, operation.channel(operation.channels)), {})

    def _at(self, collective: Operation) -> set[int]:
        """The ranks of the group at which a collective of this name is running."""
        queues = self._queue_of(collective)
        return {
            rank for rank, queue in queues.items() if queue and queue[0].collective == collective.collective
        }


def _run(heads: dict[int, Operation]) -> bool:
    """Let the operations at the heads of one channel, by rank, act on each other; True if anything happened."""
    moved = False
    for head in heads.values():
        for transfer in head.transfers:
            if transfer.kind == "send" and not transfer.done and _send(head, transfer, heads):
                moved = True
    for head in heads.values():
        if head.transfers and all(transfer.done for transfer in head.transfers):
            head.done = True
    return _collect([heads[rank] for rank in sorted(heads)]) or moved


def _collect(parts: list[Operation]) -> bool:
    """Complete a collective that is running at every rank of its group."""
    if not parts or len(parts) < len(parts[0].members) or not all(part.collective for part in parts):
        return False
    names = {part.collective for part in parts}
    if len(names) > 1:
        raise RuntimeError(f"ranks run different collectives on group {parts[0].group}: {sorted(names)}")
    if parts[0].combine is not None:
        parts[0].combine(parts)
    for part in parts:
        part.done = True
    return True


def _send(head: Operation, send: Transfer, heads: dict[int, Operation]) -> bool:
    """Complete a running send if its receive is running too. Both directions keep their order within a batch."""
    if _first(head.transfers, "send", send.peer) is not send or send.peer not in heads:
        return False
    receive = _first(heads[send.peer].transfers, "recv", head.rank)
    if receive is None:
        return False
    send.deliver(receive)
    send.done = receive.done = True
    return True


def _first(transfers: Iterable[Transfer], kind: str, peer: int) -> Transfer | None:
    """The next transfer of one direction with one peer."""
    return next((t for t in transfers if t.kind == kind and t.peer == peer and not t.done), None)
