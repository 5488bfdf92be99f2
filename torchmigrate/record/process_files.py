"""The files that recorded processes leave in a folder, joined into the facts of a run."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from torchmigrate.record.record_file import MOST_BYTES, merge_lines

_NUMBER = struct.Struct("<Q")


@dataclass
class JoinedRun:
    """The facts of all processes of a run."""

    lines: list[str] = field(default_factory=list)
    torch: list[str] = field(default_factory=list)
    python: list[str] = field(default_factory=list)
    processes: int = 0
    faults: list[str] = field(default_factory=list)
    """The parts of the recording that failed in a process."""


def join_processes(folder: str) -> JoinedRun:
    """Join the files of all processes; a line that a killed process did not finish is left out."""
    run = JoinedRun()
    lines: list[str] = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".jsonl"):
            lines += _read_process(os.path.join(folder, name[: -len(".jsonl")]), run)
    run.lines = merge_lines(lines)
    return run


def _read_process(path: str, run: JoinedRun) -> Iterator[str]:
    try:
        with open(f"{path}.jsonl", "rb") as file:
            written = file.read(MOST_BYTES).split(b"\n")[:-1]
        counts = b""
        if os.path.exists(f"{path}.counts"):
            with open(f"{path}.counts", "rb") as file:
                counts = file.read()
    except OSError:
        return
    is_program = True
    for line in written:
        try:
            fact = json.loads(line)
        except ValueError:
            continue
        if not isinstance(fact, dict):
            continue
        if fact.get("kind") == "process":
            is_program = fact.get("purpose") != "proof"
            run.processes += is_program
            run.torch.append(str(fact.get("torch", "")))
            run.python.append(str(fact.get("python", "")))
        elif fact.get("kind") == "fault":
            run.faults.append(str(fact.get("part", "")))
        elif is_program or fact.get("kind") == "proof":
            number = fact.get("id")
            if isinstance(number, int) and 0 <= number < len(counts) // 8:
                fact["count"] = max(1, _NUMBER.unpack_from(counts, number * 8)[0])
            yield json.dumps(fact)
