"""On generated programs, too, the rules say what the bench says."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import check_text, fix_text

from .bench import run
from .communicator import Channels
from .test_p2p_outcomes import load

RANKS = 4
HEAD = """
import torch
import torch.distributed as dist


def main():
    dist.init_process_group("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    out = torch.full((1,), float(rank))
    received = torch.zeros(8)
    requests = []
"""
TAIL = """
    for request in requests:
        request.wait()
    return received
"""
WAIT = ["while requests:", "    requests.pop(0).wait()"]
GUARDS = {
    "ring": ("if True:", "if True:"),
    "chain": ("if rank < size - 1:", "if rank > 0:"),
    "pairs": ("if rank % 2 == 0:", "if rank % 2 == 1:"),
}
"""Which ranks send to the next, and which receive from the one before."""


@st.composite
def programs(draw: Any) -> str:
    """A program in which every rank sends and receives in one order, with waits for all in between."""
    steps = []
    for index in range(draw(st.integers(1, 3))):
        shift = draw(st.sampled_from([1, 2, 3]))
        sends, receives = GUARDS[draw(st.sampled_from(sorted(GUARDS)))] if shift == 1 else GUARDS["ring"]
        send = f"requests.append(dist.isend(out, (rank + {shift}) % size))"
        receive = f"requests.append(dist.irecv(received[{index}:{index + 1}], (rank - {shift}) % size))"
        steps += [[sends, f"    {send}"], [receives, f"    {receive}"]]
    steps = draw(st.permutations(steps))
    for place in sorted(draw(st.sets(st.integers(1, len(steps)), max_size=2)), reverse=True):
        steps.insert(place, WAIT)
    return HEAD + "\n".join(f"    {line}" for step in steps for line in step) + TAIL


@given(text=programs())
@settings(max_examples=80, deadline=None)
def test_a_generated_program_is_judged_as_the_bench_judges_it(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(text)
        program = load(path)
        grouped, paired = (run(program, RANKS, channels) for channels in (Channels.GROUP, Channels.PAIR))
        codes = {finding.code for finding in check_text(text, "--select", "TC404,TC405,TC406")}
        if grouped.verdict != "hangs":
            assert codes == ({"TC405"} if grouped.verdict == "serialised" else set())
        elif paired.verdict == "hangs":
            assert codes & {"TC404", "TC406"}
        else:
            assert "TC404" in codes
            assert "TC406" not in codes
        fixed = fix_text(text, "--select", "TC404,TC405,TC406", "--unsafe")
        if fixed != text:
            path.write_text(fixed)
            for channels in (Channels.GROUP, Channels.PAIR):
                assert run(load(path), RANKS, channels).verdict != "hangs"
