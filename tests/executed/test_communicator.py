"""The bench: what completes, what hangs and why, and that it agrees with gloo where order does not matter."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.distributed as dist
from hypothesis import given, settings
from hypothesis import strategies as st

from . import gloo
from .bench import run
from .communicator import Channels

isend: Any = dist.isend  # typed as returning None outside its group, which no test here asks for
irecv: Any = dist.irecv

Body = Callable[[int, int], Any]


def program(body: Body) -> Callable[[], Any]:
    """A program of a function of rank and world size."""

    def main() -> Any:
        dist.init_process_group("nccl")
        return body(dist.get_rank(), dist.get_world_size())

    return main


def number(value: float = 0.0) -> torch.Tensor:
    return torch.tensor([float(value)])


def ring(rank: int, size: int) -> torch.Tensor:
    incoming = number()
    requests = [isend(number(rank), (rank + 1) % size), irecv(incoming, (rank - 1) % size)]
    for request in requests:
        request.wait()
    return incoming


def test_a_ring_hangs_on_one_communicator_and_the_report_names_every_rank() -> None:
    outcome = run(program(ring), 4)
    assert outcome.verdict == "hangs"
    assert [str(wait) for wait in outcome.deadlock] == [
        f"rank {rank} waits for send to {(rank + 1) % 4} on group 0; it needs rank {(rank + 1) % 4}"
        for rank in range(4)
    ]
    assert outcome.results == [None] * 4


def test_a_ring_completes_with_a_communicator_per_pair() -> None:
    outcome = run(program(ring), 4, Channels.PAIR)
    assert outcome.verdict == "completes"
    assert outcome.results == [number(3), number(0), number(1), number(2)]


def test_a_ring_of_two_ranks_is_one_pair_and_hangs_either_way() -> None:
    assert run(program(ring), 2, Channels.PAIR).verdict == "hangs"
    assert run(program(ring), 2, Channels.GROUP).verdict == "hangs"


def test_what_stands_in_the_way_is_reported() -> None:
    def body(rank: int, size: int) -> None:
        if rank == 0:
            isend(number(), 1)
            irecv(number(), 1).wait()
        else:
            isend(number(), 0).wait()

    deadlock = [str(wait) for wait in run(program(body), 2).deadlock]
    assert deadlock[0] == (
        "rank 0 waits for recv from 1 on group 0, which is queued behind send to 1; it needs rank 1"
    )


def test_a_receive_that_nobody_sends_to_hangs_after_the_others_have_finished() -> None:
    def body(rank: int, size: int) -> int:
        if rank == 0:
            dist.recv(number(), 2)
        return rank

    outcome = run(program(body), 3)
    assert [(wait.rank, wait.needs) for wait in outcome.deadlock] == [(0, frozenset({2}))]
    assert outcome.results == [None, 1, 2]


def test_not_waiting_for_an_operation_does_not_make_it_run() -> None:
    def body(rank: int, size: int) -> int:
        isend(number(), (rank + 1) % size)
        irecv(number(), (rank - 1) % size)
        return rank

    outcome = run(program(body), 3)
    assert outcome.verdict == "hangs"
    assert outcome.results == [0, 1, 2]
    assert run(program(body), 3, Channels.PAIR).verdict == "completes"


@pytest.mark.parametrize("channels", Channels)
@pytest.mark.parametrize("receive_first", [True, False])
def test_the_order_of_sends_against_receives_in_a_batch_is_free(
    channels: Channels, receive_first: bool
) -> None:
    def body(rank: int, size: int) -> torch.Tensor:
        incoming = number()
        operations = [
            dist.P2POp(isend, number(rank), (rank + 1) % size),
            dist.P2POp(irecv, incoming, (rank - 1) % size),
        ]
        requests = dist.batch_isend_irecv(operations[::-1] if receive_first else operations)
        assert len(requests) == 1
        requests[0].wait()
        return incoming

    outcome = run(program(body), 4, channels)
    assert outcome.verdict == "completes"
    assert outcome.results == [number(3), number(0), number(1), number(2)]


def test_within_one_direction_a_batch_keeps_its_order() -> None:
    def body(rank: int, size: int) -> list[torch.Tensor]:
        tensors = [number(1), number(2)] if rank == 0 else [number(), number()]
        operation = isend if rank == 0 else irecv
        for request in dist.batch_isend_irecv(
            [dist.P2POp(operation, tensor, 1 - rank) for tensor in tensors]
        ):
            request.wait()
        return tensors

    assert run(program(body), 2).results[1] == [number(1), number(2)]


def test_a_batch_meets_single_operations_only_on_one_communicator() -> None:
    def body(rank: int, size: int) -> None:
        if rank == 0:
            dist.batch_isend_irecv([dist.P2POp(isend, number(), 1)])[0].wait()
        else:
            dist.recv(number(), 0)

    assert run(program(body), 2, Channels.GROUP).verdict == "completes"
    assert run(program(body), 2, Channels.PAIR).verdict == "hangs"


def test_a_rank_may_send_to_itself_in_a_batch_only() -> None:
    def batched(rank: int, size: int) -> torch.Tensor:
        incoming = number()
        operations = [dist.P2POp(isend, number(5), rank), dist.P2POp(irecv, incoming, rank)]
        dist.batch_isend_irecv(operations)[0].wait()
        return incoming

    def single(rank: int, size: int) -> None:
        isend(number(5), rank)
        irecv(number(), rank).wait()

    assert run(program(batched), 1).results == [number(5)]
    assert run(program(single), 1).verdict == "hangs"


def test_operations_that_could_overlap_are_named() -> None:
    def body(rank: int, size: int) -> None:
        if rank == 0:
            for request in [isend(number(), peer) for peer in (1, 2)]:
                request.wait()
        else:
            dist.recv(number(), 0)

    outcome = run(program(body), 3)
    assert outcome.verdict == "serialised"
    assert [str(pair) for pair in outcome.serialised] == [
        "rank 0: send to 2 on group 0 starts only after send to 1"
    ]
    assert run(program(body), 3, Channels.PAIR).verdict == "completes"


def test_a_wait_in_between_leaves_nothing_to_overlap() -> None:
    def body(rank: int, size: int) -> None:
        if rank == 0:
            for peer in (1, 2):
                isend(number(), peer).wait()
        else:
            dist.recv(number(), 0)

    assert run(program(body), 3).verdict == "completes"


def test_groups_are_independent() -> None:
    def body(rank: int, size: int) -> None:
        other = dist.new_group([0, 1])
        groups = (None, other) if rank == 0 else (other, None)
        requests = [
            isend(number(), 1 - rank, group=groups[0]),
            irecv(number(), 1 - rank, group=groups[1]),
        ]
        for request in requests:
            request.wait()

    assert run(program(body), 2).verdict == "completes"


def test_ranks_of_a_subgroup_are_translated() -> None:
    def body(rank: int, size: int) -> torch.Tensor | None:
        pair = dist.new_group([1, 3])
        if rank not in (1, 3):
            return None
        value = number(rank)
        if rank == 1:
            dist.send(value, 3, group=pair)
        else:
            dist.recv(value, group_src=0, group=pair)
        return value

    assert run(program(body), 4).results == [None, number(1), None, number(1)]


def test_collectives_take_their_turn_among_transfers() -> None:
    def body(rank: int, size: int) -> torch.Tensor:
        incoming, total = number(), number(rank)
        request = irecv(incoming, 1) if rank == 0 else None
        dist.all_reduce(total)
        if rank == 1:
            dist.send(total, 0)
        if request is not None:
            request.wait()
        return total

    assert run(program(body), 2, Channels.PAIR).results == [number(1), number(1)]
    deadlock = run(program(body), 2, Channels.GROUP).deadlock
    assert [str(wait) for wait in deadlock] == [
        "rank 0 waits for all_reduce on group 0, which is queued behind recv from 1; it needs rank 1",
        "rank 1 waits for all_reduce on group 0; it needs rank 0",
    ]


def test_collectives_compute() -> None:
    def body(rank: int, size: int) -> list[Any]:
        total, largest, told = number(rank + 1), number(rank), number(rank)
        gathered = [number() for _ in range(size)]
        dist.all_reduce(total)
        dist.all_reduce(largest, op=dist.ReduceOp.MAX)
        dist.broadcast(told, src=1)
        dist.all_gather(gathered, number(rank))
        objects: list[Any] = [{"rank": rank}]
        dist.broadcast_object_list(objects, src=2)
        dist.barrier()
        return [total, largest, told, gathered, objects]

    expected = [number(6), number(2), number(1), [number(0), number(1), number(2)], [{"rank": 2}]]
    assert run(program(body), 3).results == [expected] * 3


def test_different_collectives_on_one_group_are_an_error() -> None:
    def body(rank: int, size: int) -> None:
        if rank == 0:
            dist.barrier()
        else:
            dist.all_reduce(number())

    with pytest.raises(RuntimeError, match="different collectives"):
        run(program(body), 2)


def test_a_new_group_is_split_from_the_default_group_by_every_rank() -> None:
    def body(rank: int, size: int) -> None:
        if rank == 0:
            dist.new_group([0])

    deadlock = run(program(body), 2).deadlock
    assert [str(wait) for wait in deadlock] == ["rank 0 waits for split on group 0; it needs rank 1"]
    assert run(program(body), 2, Channels.PAIR).verdict == "completes"


def test_of_several_backends_the_accelerators_counts() -> None:
    def main(backend: str | None) -> None:
        dist.init_process_group("cpu:gloo,cuda:nccl")
        if dist.get_rank() == 0:
            dist.new_group([0], backend=backend)

    assert run(lambda: main(None), 2).verdict == "hangs"
    assert run(lambda: main("nccl"), 2).verdict == "hangs"
    assert run(lambda: main("gloo"), 2).verdict == "completes"


@pytest.mark.parametrize("backend", ["gloo", "nccl-lazy"])
def test_a_group_of_another_backend_is_not_split(backend: str) -> None:
    def body(rank: int, size: int) -> None:
        if rank == 0:
            dist.new_group([0], backend=backend)

    assert run(program(body), 2).verdict == "completes"


def test_gloo_and_nccl_lazy_groups_let_a_ring_pass() -> None:
    def body(rank: int, size: int) -> None:
        for backend in ("gloo", "nccl-lazy"):
            group = dist.new_group(backend=backend)
            incoming = number()
            requests = [
                isend(number(rank), (rank + 1) % size, group=group),
                irecv(incoming, (rank - 1) % size, group=group),
            ]
            for request in requests:
                request.wait()
            assert incoming == number((rank - 1) % size)

    assert run(program(body), 3).verdict == "completes"


def test_a_tensor_changed_in_flight_is_a_race() -> None:
    def body(rank: int, size: int) -> None:
        if rank == 0:
            value = number(1)
            request = isend(value, 1)
            value += 1
            request.wait()
        else:
            dist.recv(number(), 0)

    assert run(program(body), 2).races == ["rank 0 changed a tensor before it was received"]


def test_an_exception_of_any_rank_is_raised() -> None:
    def body(rank: int, size: int) -> None:
        if rank == 1:
            raise ValueError("from rank 1")
        dist.recv(number(), 1)

    with pytest.raises(ValueError, match="from rank 1"):
        run(program(body), 3)


def test_sizes_must_agree() -> None:
    def body(rank: int, size: int) -> None:
        if rank == 0:
            dist.send(torch.zeros(2), 1)
        else:
            dist.recv(torch.zeros(3), 0)

    with pytest.raises(RuntimeError, match="the receive expects"):
        run(program(body), 2)


def test_every_rank_sees_a_process_of_its_own_and_nothing_is_left_behind() -> None:
    before = dict(os.environ)

    def body(rank: int, size: int) -> tuple[str, str, str]:
        dist.barrier()
        environment = os.environ["RANK"], os.environ["LOCAL_RANK"], os.environ["WORLD_SIZE"]
        dist.destroy_process_group()
        return environment

    assert run(program(body), 2).results == [("0", "0", "2"), ("1", "1", "2")]
    assert dict(os.environ) == before
    assert not dist.is_initialized()


Transfers = list[tuple[int, int]]


def _sequential(transfers: Transfers, batch: bool) -> Body:
    """Every rank takes its part in the transfers, in one common order, so that nothing can hang."""

    def body(rank: int, size: int) -> list[float]:
        seen: list[float] = []
        for index, (source, target) in enumerate(transfers):
            value = number(100 * index + source) if rank == source else number()
            if rank not in (source, target):
                continue
            operation, peer = (isend, target) if rank == source else (irecv, source)
            if batch:
                requests = dist.batch_isend_irecv([dist.P2POp(operation, value, peer)])
            else:
                requests = [operation(value, peer)]
            for request in requests:
                request.wait()
            seen.append(value.item())
        return seen

    return body


_transfers = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3)).filter(lambda pair: pair[0] != pair[1]),
    min_size=1,
    max_size=12,
)


@settings(max_examples=25, deadline=None)
@given(transfers=_transfers, batch=st.booleans())
def test_programs_without_concurrency_complete_everywhere_as_on_gloo(
    transfers: Transfers, batch: bool
) -> None:
    main = program(_sequential(transfers, batch))
    expected = gloo.run(main, 4)
    for channels in Channels:
        outcome = run(main, 4, channels)
        assert outcome.verdict == "completes"
        assert outcome.results == expected


@settings(max_examples=50, deadline=None)
@given(transfers=_transfers)
def test_one_batch_of_everything_never_hangs(transfers: Transfers) -> None:
    def body(rank: int, size: int) -> list[float]:
        values, operations = [], []
        for index, (source, target) in enumerate(transfers):
            if rank not in (source, target):
                continue
            operation, peer = (isend, target) if rank == source else (irecv, source)
            values.append(number(index) if rank == source else number())
            operations.append(dist.P2POp(operation, values[-1], peer))
        for request in dist.batch_isend_irecv(operations) if operations else []:
            request.wait()
        return [value.item() for value in values]

    outcome = run(program(body), 4)
    assert outcome.verdict == "completes"
    assert outcome.results == [
        [float(i) for i, pair in enumerate(transfers) if rank in pair] for rank in range(4)
    ]


@settings(max_examples=50, deadline=None)
@given(orders=st.lists(st.permutations(range(4)), min_size=2, max_size=2))
def test_a_hang_is_a_cycle_of_waits(orders: list[list[int]]) -> None:
    """Two ranks issue the two sides of four transfers, two in each direction, in orders of their own."""

    def body(rank: int, size: int) -> None:
        requests = []
        for index in orders[rank]:
            operation = isend if index % 2 == rank else irecv
            requests.append(operation(number(), 1 - rank))
        for request in requests:
            request.wait()

    def sides(rank: int) -> list[bool]:
        return [index % 2 == 0 for index in orders[rank]]

    outcome = run(program(body), 2)
    assert (outcome.verdict == "completes") == (sides(0) == sides(1))
    assert {wait.rank for wait in outcome.deadlock} in (set(), {0, 1})
