"""The rules on point-to-point operations say what the bench says, and what they write completes on it.

Each program of fixtures/p2p is checked and run: what hangs only with one communicator per group is TC404, what hangs
with one per pair of ranks as well is TC406, what is merely serialised is TC405, and what completes gives no finding.
A fixed program completes either way, with the tensors of gloo.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.support import check_text, fix_text

from . import gloo
from .bench import run
from .communicator import Channels
from .test_p2p_outcomes import OUTCOMES, PROGRAMS, load

P2P = ("--select", "TC404,TC405,TC406", "--unsafe")
GROUPS = ("subgroup_of_members", "subgroup_local_synchronization")
"""What hangs there is making a group (TC402)."""
UNFIXED = {
    "gather_by_receives": "in ways that a single batch cannot replace",
    "pipeline_both_ways": "the operations are waited for separately",
    "pipeline_forward": "uses what they transfer",
    "receive_across_collective": "in ways that a single batch cannot replace",
    "scatter_by_sends": "would not match single operations",
}
CODES: dict[tuple[str, ...], set[str]] = {
    ("completes", "completes"): set(),
    ("serialised", "completes"): {"TC405"},
    ("hangs", "completes"): {"TC404"},
    ("hangs", "hangs"): {"TC406"},
}

BLOCKING_RING = """
import torch
import torch.distributed as dist

def main():
    dist.init_process_group("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    received = torch.empty(3)
    dist.send(torch.full((3,), float(rank)), (rank + 1) % size)
    dist.recv(received, (rank - 1) % size)
    return received
"""
"""No program of fixtures/p2p: with gloo it hangs, too."""


def text(name: str) -> str:
    return (PROGRAMS / f"{name}.py").read_text()


@pytest.mark.parametrize("name", sorted(set(OUTCOMES) - set(GROUPS)))
def test_the_finding_is_what_happens(name: str) -> None:
    _, on_one, on_pairs = OUTCOMES[name]
    assert {finding.code for finding in check_text(text(name), *P2P)} == CODES[on_one, on_pairs]


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_that_some_ranks_make_is_found_where_it_hangs(name: str) -> None:
    assert {finding.code for finding in check_text(text(name), "--select", "TC402,TC404,TC405,TC406")} == {
        "TC402"
    }


def test_groups_that_complete_give_no_finding() -> None:
    for name in ("subgroups_of_all", "subgroup_lazy_of_members", "ring_two_groups"):
        assert not check_text(text(name), "--select", "TC402")


def found() -> list[str]:
    return [name for name in sorted(OUTCOMES) if name not in GROUPS and check_text(text(name), *P2P)]


@pytest.mark.parametrize("name", sorted(UNFIXED))
def test_what_cannot_be_batched_says_why(name: str) -> None:
    withheld = [finding.withheld for finding in check_text(text(name), *P2P)]
    assert len(withheld) == 1
    assert UNFIXED[name] in (withheld[0] or "")
    assert fix_text(text(name), *P2P) == text(name)


@pytest.mark.parametrize("name", [name for name in found() if name not in UNFIXED])
def test_what_is_fixed_completes_with_the_same_tensors(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}_fixed.py"
    path.write_text(fix_text(text(name), *P2P))
    assert not check_text(path.read_text(), *P2P)
    ranks, *_ = OUTCOMES[name]
    expected = gloo.run(load(PROGRAMS / f"{name}.py"), ranks)
    program = load(path)
    for channels in (Channels.GROUP, Channels.PAIR):
        outcome = run(program, ranks, channels)
        assert outcome.verdict == "completes", str(outcome)
        assert not outcome.races
        torch.testing.assert_close(outcome.results, expected, rtol=0, atol=0)


def test_blocking_calls_hang_with_every_communicator_until_they_are_batched(tmp_path: Path) -> None:
    path = tmp_path / "ring.py"
    path.write_text(BLOCKING_RING)
    assert [finding.code for finding in check_text(BLOCKING_RING, *P2P)] == ["TC406"]
    assert {run(load(path), 4, channels).verdict for channels in Channels} == {"hangs"}
    path.write_text(fix_text(BLOCKING_RING, *P2P))
    assert not check_text(path.read_text(), *P2P)
    assert {run(load(path), 4, channels).verdict for channels in Channels} == {"completes"}
