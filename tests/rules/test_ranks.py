"""Ranks that only their names tell make warnings; errors take more."""

from __future__ import annotations

from importlib import import_module

import pytest

from tests.support import check_text
from torchmigrate.model.vocabulary import Severity

RING = """
import os, torch.distributed as dist
{before}
def step(x, y{parameters}):
    {known}
    requests = [dist.isend(x, ({rank} + 1) % size), dist.irecv(y, ({rank} - 1) % size)]
    for request in requests:
        request.wait()
"""
GROUP = """
import os, torch.distributed as dist
{before}
def step(x{parameters}):
    {known}
    if {rank} == 0:
        dist.new_group([0])
"""
HANDED = 'def start(rank, world):\n    dist.init_process_group("nccl", rank=rank, world_size=world)\n'


@pytest.mark.parametrize(
    ("rank", "known", "severity"),
    [
        ("rank", "size = dist.get_world_size()", Severity.WARNING),
        ("ep_rank", "size = dist.get_world_size()", Severity.WARNING),
        ("self.rank", "size = dist.get_world_size()", Severity.WARNING),
        ("rank", "rank, size = dist.get_rank(), dist.get_world_size()", Severity.ERROR),
        ("me", "me, size = dist.get_rank(), dist.get_world_size()", Severity.ERROR),
        ("me", 'me, size = int(os.environ["RANK"]), dist.get_world_size()', Severity.ERROR),
        (
            "rank",
            'size = 4; dist.init_process_group("nccl", rank=rank, world_size=size)',
            Severity.ERROR,
        ),
    ],
)
@pytest.mark.parametrize(("program", "code"), [(RING, "TC404"), (GROUP, "TC402")])
def test_only_evidence_makes_an_error(
    program: str, code: str, rank: str, known: str, severity: Severity
) -> None:
    is_parameter = not known.startswith(rank)
    parameters = f", {rank.partition('.')[0]}" if is_parameter else ""
    text = program.format(before="", parameters=parameters, known=known, rank=rank)
    assert [found.severity for found in check_text(text, "--select", code)] == [severity]


def test_what_another_function_hands_to_torch_is_a_rank() -> None:
    text = GROUP.format(before=HANDED, parameters=", rank", known="pass", rank="rank")
    assert [found.severity for found in check_text(text, "--select", "TC402")] == [Severity.ERROR]


@pytest.mark.parametrize("decided", ["if rank % 2:", "if rank > 0 and flag:", "if not rank:"])
def test_what_a_name_decides_is_no_more_certain_than_the_name(decided: str) -> None:
    text = (
        f"import torch.distributed as dist\ndef step(x, y, rank, flag=True):\n    me, size = dist.get_rank(), 4\n"
        f"    {decided}\n        return\n"
        "    requests = [dist.isend(x, (me + 1) % size), dist.irecv(y, (me - 1) % size)]\n"
        "    for request in requests:\n        request.wait()\n"
    )
    assert not [found for found in check_text(text, "--select", "TC404") if found.severity is Severity.ERROR]


def test_names() -> None:
    ranks = "rank my_rank self_rank global_rank LOCAL_RANK _rank rank_id cp_rank ep_rank mp_rank attn_tp_rank"
    ranks += " pipeline_rank data_parallel_rank tensor_model_parallel_rank dp_shard_rank rank_in_group"
    others = (
        "lora_rank matrix_rank low_rank max_rank num_rank num_ranks src_rank dst_rank ranking frank is_rank"
    )
    sizes = "size world_size ep_size tp_world_size tensor_model_parallel_size num_ranks nprocs world"
    lengths = "model_size data_size context_size tensor_size hidden_size batch_size"
    known = import_module("torchmigrate.rules.torchcomms._groups.rank_names")
    assert [name for name in ranks.split() if not known.is_rank_name(name)] == []
    assert [name for name in others.split() if known.is_rank_name(name)] == []
    assert [name for name in sizes.split() if not known.is_size_name(name)] == []
    assert [name for name in lengths.split() if known.is_size_name(name)] == []
    assert known.is_rank_getter("get_tensor_model_parallel_rank")
    assert not known.is_rank_getter("get_lora_rank")
