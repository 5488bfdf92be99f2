"""Findings about AMD's GPUs and ROCm: kernels that a build lacks, and features that need a newer ROCm or another GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from torchmigrate.model.findings import Finding
from torchmigrate.probe.build_fit import find_newest_release, find_rocm_target, forget_python
from torchmigrate.probe.install_commands import create_install_command
from torchmigrate.probe.machine_facts import Gpu, InstalledTorch, MachineFacts
from torchmigrate.probe.wording import create_error, create_info, describe_build, name_gpus
from torchmigrate.tables.torch_builds import parse_number

COVERED_BY_GFX1030 = frozenset(f"gfx{number}" for number in range(1031, 1037))
"""AMD's RDNA 2 GPUs that no build has code for, and on which that of gfx1030 runs, though AMD does not support it:
<https://github.com/ROCm/legacy-rocm-build/issues/1797>."""

FEATURES_SINCE = (2, 12)
"""The first torch with these features on ROCm: <https://pytorch.org/blog/pytorch-2-12-release-blog/>."""

OVERRIDE = "HSA_OVERRIDE_GFX_VERSION=10.3.0"


def check_rocm_kernels(facts: MachineFacts, torch: InstalledTorch) -> Iterator[Finding]:
    """Find the AMD GPUs for which the installed torch has no kernels."""
    amd = [gpu for gpu in facts.gpus if gpu.vendor == "amd"]
    bare = [gpu for gpu in amd if (target := find_rocm_target(gpu, facts)) and target not in torch.compiled]
    if not torch.compiled or not bare:
        return
    message = (
        f"torch {torch.version} has no kernels for {name_gpus(bare)}, only for {' '.join(torch.compiled)}"
    )
    hint = advise_override(bare, facts)
    if hint is None and (build := find_newest_release(forget_python(facts), facts.gpus)):
        message += f"; the newest release that has them is {describe_build(build)}"
        hint = create_install_command(build, facts)
    yield create_error("RT021", message, hint)


def find_rocm_limits(facts: MachineFacts) -> Iterator[Finding]:
    """Find the features of newer torch releases that this build and ROCm have, and those that they are too old for."""
    rocm, torch = facts.rocm, facts.torch
    if torch is not None and torch.hip is not None and any(gpu.vendor == "amd" for gpu in facts.gpus):
        names = "rocSHMEM and pipelined FlexAttention"
        if parse_number(torch.version)[:2] < FEATURES_SINCE:
            yield create_info("RT031", f"{names} need torch 2.12, but this is torch {torch.version}")
        else:
            names = (
                names if rocm is None or parse_number(rocm) < (7, 0, 2) else f"expandable segments, {names}"
            )
            yield create_info("RT031", f"torch {torch.version} has {names}")
    if rocm is None:
        return
    if parse_number(rocm) < (7, 0, 2):
        yield create_info("RT031", f"expandable segments need ROCm 7.0.2, but this is ROCm {rocm}")
    sparse = [gpu for gpu in facts.gpus if gpu.capability == "gfx950"]
    if sparse and parse_number(rocm) < (7, 12):
        message = f"2:4 sparsity with FP8 on {name_gpus(sparse)} needs ROCm 7.12, but this is ROCm {rocm}"
        yield create_info("RT031", message)


def advise_override(gpus: Sequence[Gpu], facts: MachineFacts) -> str | None:
    """Return the commands that run the code of gfx1030 on related GPUs; None where these are other ones."""
    if not all(gpu.capability in COVERED_BY_GFX1030 for gpu in gpus):
        return None
    if facts.torch is not None and "gfx1030" in facts.torch.compiled:
        return f"export {OVERRIDE}"
    there = replace(facts, environment={**facts.environment, "HSA_OVERRIDE_GFX_VERSION": "10.3.0"})
    build = find_newest_release(forget_python(there), gpus)
    return f"{create_install_command(build, facts)} && export {OVERRIDE}" if build else None
