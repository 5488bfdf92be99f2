"""`--smoke`: torch at work in the user's interpreter, stage by stage, each stage with its own time limit.

The first stage that fails is explained: the cause of most failures shows in the facts, and the finding about it has the
command that helps.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from torchmigrate.model.findings import Finding
from torchmigrate.probe import processes
from torchmigrate.probe.machine_facts import MachineFacts
from torchmigrate.probe.wording import create_error

STAGE_LIMITS: Mapping[str, float] = {
    "import": 60, "device": 60, "allocate": 30, "kernel": 30, "matmul": 60, "eigh": 60, "graph": 30, "cond": 120,
    "process group": 60, "nccl2": 60, "compile": 180,
}  # fmt: skip
"""Seconds for each stage, in the order in which they run: enough for a first use, which loads or compiles much."""


@dataclass(frozen=True, slots=True)
class SmokeStage:
    """One stage that was begun."""

    name: str
    outcome: str
    """``ok``, ``skipped``, ``failed`` (by an exception), ``hung`` or ``killed``."""
    detail: str

    @property
    def text(self) -> str:
        """The outcome in words."""
        return self.detail if self.outcome == "ok" else f"{self.outcome}: {self.detail}"

    @property
    def has_failed(self) -> bool:
        """Whether this stage ended the run."""
        return self.outcome not in ("ok", "skipped")


def run_stages(
    python: str, facts: MachineFacts, environ: Mapping[str, str], limits: Mapping[str, float] = STAGE_LIMITS
) -> list[SmokeStage]:
    """Run the stages in the interpreter ``python``, up to the first that fails."""
    with tempfile.TemporaryDirectory(prefix="torchmigrate-", ignore_cleanup_errors=True) as folder:
        empty, result = Path(folder) / "empty", Path(folder) / "stages"
        empty.mkdir()
        result.touch()
        expected = "gpu" if facts.gpus else "cpu"
        try:
            process = processes.start_program(
                [python, "-c", processes.read_snippet("smoke"), str(result), expected], environ, empty
            )
        except OSError as failure:
            return [SmokeStage("import", "failed", failure.strerror or str(failure))]
        pipes = [processes.PipeDrain(process.stdout), processes.PipeDrain(process.stderr)]
        try:
            with result.open(encoding="utf-8") as file:
                stages = _follow_stages(process, file, limits)
        finally:
            if process.poll() is None:
                processes.kill_program(process)
            errors = [pipe.read_text() for pipe in pipes][1]
        if stages and stages[-1].outcome == "raised":
            stages[-1] = SmokeStage(
                stages[-1].name, "failed", processes.find_last_line(errors) or stages[-1].detail
            )
        return [SmokeStage(s.name, s.outcome, processes.shorten_paths(s.detail)) for s in stages]


def _follow_stages(
    process: subprocess.Popen[bytes], file: IO[str], limits: Mapping[str, float]
) -> list[SmokeStage]:
    """Read the outcomes of the stages until the process ends, or a stage exceeds its limit."""
    stages: list[SmokeStage] = []
    name, since, rest = next(iter(limits)), time.monotonic(), ""
    while True:
        ended = process.poll() is not None
        rest += file.read()
        *lines, rest = rest.split("\n")
        for line in lines:
            word, name, *how = json.loads(line)
            since = time.monotonic()
            if word == "end":
                stages.append(SmokeStage(name, how[0], how[1]))
                names = list(limits)
                name = names[min(names.index(name) + 1, len(names) - 1)]
        if ended:
            if len(stages) < len(limits) and not (stages and stages[-1].has_failed):
                death = processes.describe_termination(process.returncode)
                detail = death or f"the interpreter ended with status {process.returncode}"
                stages.append(SmokeStage(name, "killed" if death else "raised", detail))
            return stages
        if time.monotonic() - since > limits[name]:
            stages.append(SmokeStage(name, "hung", f"timed out after {limits[name]:g} s"))
            return stages
        time.sleep(0.02)


_UNSEEN_GPU = "the build does not use this GPU, or the environment hides it"
FAILURE_CAUSES = (
    (
        r"no kernel image|invalid device function",
        "the build has no kernels for this GPU",
        "RT021 RT028 RT022",
    ),
    (
        r"driver .*too old|driver version is insufficient",
        "the driver is older than the build's CUDA",
        "RT012",
    ),
    (r"Error 804|forward compatibility", "cuda-compat does not support this GPU", "RT016"),
    (r"Error 802|system not yet initialized", "the Fabric Manager is not ready", "RT017"),
    (r"undefined symbol: nccl", "two NVIDIA libraries overwrite each other", "RT006"),
    (r"libcudart\.so\.\d+", "an extension was built for another CUDA", "RT007"),
    (r"not compiled with CUDA|sees none", _UNSEEN_GPU, "RT027 RT035 RT020 RT038 RT034"),
    (r"out of memory", "other programs use the GPU's memory; nvidia-smi lists them", ""),
    (r"working triton|triton.*not (found|installed)", "triton is missing or does not fit", "RT008"),
    (r"C\+\+ compiler|g\+\+|gcc|InvalidCxxCompiler", "torch.compile needs a C++ compiler on PATH", ""),
    (r"Python\.h", "torch.compile needs Python's headers (python3-dev)", ""),
)
"""Pattern in a failure → its cause, and the codes of the findings whose hint helps."""


def explain_failure(stages: list[SmokeStage], others: tuple[Finding, ...]) -> list[Finding]:
    """Return the finding about the stage that failed, if one did, with the hint of the finding that explains it."""
    if not stages or not stages[-1].has_failed:
        return []
    stage = stages[-1]
    causes = ((cause, codes) for pattern, cause, codes in FAILURE_CAUSES if re.search(pattern, stage.detail))
    cause, codes = next(causes, ("", ""))
    hint = next((other.hint for other in others if other.code in codes.split() and other.hint), None)
    verb = {"hung": "does not finish", "killed": "crashes the interpreter"}.get(stage.outcome, "fails")
    message = f"smoke stage {stage.name} {verb}{f': {cause}' if cause else ''} ({stage.detail})"
    return [create_error("RT040", message, hint)]
