"""What becomes of each program in fixtures/p2p, with one communicator per group and with one per pair of ranks.

Every program completes on gloo; where it completes on the bench, the tensors are those of gloo.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from . import gloo
from .bench import run
from .communicator import Channels

PROGRAMS = Path(__file__).parents[2] / "fixtures" / "p2p"

# program: (ranks, with one communicator per group, with one per pair of ranks)
OUTCOMES = {
    "all_to_all_batched": (4, "completes", "completes"),
    "all_to_all_by_sends": (4, "hangs", "hangs"),
    "broadcast_by_sends": (4, "completes", "completes"),
    "exchange": (4, "hangs", "hangs"),
    "exchange_ordered": (4, "completes", "completes"),
    "exchange_ordered_async": (4, "serialised", "completes"),
    "gather_by_receives": (4, "serialised", "completes"),
    "halo": (4, "hangs", "hangs"),
    "halo_at_boundaries": (4, "serialised", "completes"),
    "halo_batched": (4, "completes", "completes"),
    "halo_shift": (4, "hangs", "completes"),
    "halo_shift_open": (4, "serialised", "completes"),
    "pipeline_1f1b": (2, "hangs", "hangs"),
    "pipeline_1f1b_batched": (2, "completes", "completes"),
    "pipeline_both_ways": (4, "serialised", "completes"),
    "pipeline_forward": (4, "serialised", "completes"),
    "receive_across_collective": (4, "hangs", "completes"),
    "ring": (4, "hangs", "completes"),
    "ring_batched": (4, "completes", "completes"),
    "ring_blocking_receive": (4, "hangs", "completes"),
    "ring_nccl_lazy": (4, "completes", "completes"),
    "ring_receive_first": (4, "hangs", "completes"),
    "ring_steps": (4, "hangs", "completes"),
    "ring_steps_batched": (4, "completes", "completes"),
    "ring_two_groups": (4, "completes", "completes"),
    "scatter_by_sends": (4, "serialised", "completes"),
    "subgroup_lazy_of_members": (4, "completes", "completes"),
    "subgroup_local_synchronization": (4, "hangs", "completes"),
    "subgroup_of_members": (4, "hangs", "completes"),
    "subgroup_of_ones_own": (4, "completes", "completes"),
    "subgroups_of_all": (4, "completes", "completes"),
    "wait_each": (4, "completes", "completes"),
}


def load(path: Path) -> Callable[[], Any]:
    """The `main` of a program."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    main: Callable[[], Any] = module.main
    return main


def test_every_program_has_an_outcome() -> None:
    assert sorted(OUTCOMES) == sorted(path.stem for path in PROGRAMS.glob("*.py"))


@pytest.mark.parametrize("name", sorted(OUTCOMES))
def test_outcome(name: str) -> None:
    ranks, one_per_group, one_per_pair = OUTCOMES[name]
    program = load(PROGRAMS / f"{name}.py")
    expected = gloo.run(program, ranks)
    for channels, verdict in ((Channels.GROUP, one_per_group), (Channels.PAIR, one_per_pair)):
        outcome = run(program, ranks, channels)
        assert outcome.verdict == verdict, str(outcome)
        assert not outcome.races
        if verdict != "hangs":
            torch.testing.assert_close(outcome.results, expected, rtol=0, atol=0)
