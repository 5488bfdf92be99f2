"""Point-to-point operations of all ranks, as one communicator would run them: each rank's in the order in which it issues them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from torchmigrate.record.record_facts import Deadlock, IssuedOperations, Operation

_Waiting = dict[int, list[list[Operation]]]
"""The operations that each rank still has to run; those of a batch together."""


def find_deadlocks(issued: Iterable[IssuedOperations]) -> Iterator[Deadlock]:
    """Yield the operations that wait for each other in one communicator, at each of their lines."""
    groups: dict[str, dict[int, dict[int, IssuedOperations]]] = {}
    mixed = set()
    for one in issued:
        numbered = groups.setdefault(one.group, {}).setdefault(one.rank, {})
        if numbered.setdefault(one.number, one) != one:
            mixed.add(one.group)  # of several runs, whose orders would be mixed
    for group, ranks in groups.items():
        if group in mixed:
            continue
        waiting = {rank: [list(of[number].operations) for number in sorted(of)] for rank, of in ranks.items()}
        backend = next(iter(next(iter(ranks.values())).values())).backend
        yield from _describe_cycle(_find_cycle(_run(waiting)), backend)


def _run(waiting: _Waiting) -> _Waiting:
    """Run operations whose counterparts are at the head as well, until nothing moves; return what is left."""
    is_moving = True
    while is_moving:
        is_moving = False
        for rank, batches in waiting.items():
            while batches and not batches[0]:
                batches.pop(0)
                is_moving = True
            for operation in batches[0] if batches else []:
                other = _find_counterpart(rank, operation, waiting)
                if other is not None and operation.peer is not None:
                    waiting[operation.peer][0].remove(other)
                    batches[0].remove(operation)
                    is_moving = True
                    break
    return waiting


def _find_counterpart(rank: int, operation: Operation, waiting: _Waiting) -> Operation | None:
    batches = waiting.get(-1 if operation.peer is None else operation.peer, [])
    does = "receive" if operation.do == "send" else "send"
    return next((one for one in (batches[0] if batches else []) if (one.do, one.peer) == (does, rank)), None)


def _find_cycle(waiting: _Waiting) -> list[tuple[int, Operation]]:
    """Return the ranks of a cycle in which each waits for the next one, with their operations; nothing if there is none."""
    heads: Mapping[int, Operation] = {
        rank: batches[0][0] for rank, batches in waiting.items() if batches and batches[0]
    }
    for start in sorted(heads):
        path: list[int] = []
        rank: int | None = start
        while rank is not None and rank in heads and rank not in path:
            path.append(rank)
            rank = heads[rank].peer
        if rank is not None and rank in path:
            return [(one, heads[one]) for one in path[path.index(rank) :]]
    return []


def _describe_cycle(cycle: list[tuple[int, Operation]], backend: str) -> Iterator[Deadlock]:
    parts = []
    for rank, operation in cycle:
        where = f" at {operation.at.path}:{operation.at.line}" if operation.at is not None else ""
        does = "sends to" if operation.do == "send" else "receives from"
        parts.append(f"rank {rank} {does} rank {operation.peer}{where}")
    shown = ", ".join(parts[:4]) + (", …" if len(parts) > 4 else "")
    for at in dict.fromkeys(operation.at for _, operation in cycle):
        if at is not None:
            yield Deadlock(at, shown, backend)
