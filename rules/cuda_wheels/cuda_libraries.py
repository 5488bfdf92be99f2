"""A library of CUDA 12 pinned beside a torch of CUDA 13.

Why: torch from the index brings the CUDA libraries that it was built with, and pins them. From 2.11 on these are those
of CUDA 13 (`nvidia-nccl-cu13`). Those of CUDA 12 that are pinned beside them are installed too. cuDNN and NCCL of both
lie in the same folders, where the later one overwrites the other (`undefined symbol: ncclCommResume`); the others lie in
folders of their own, and nothing uses them.

    torch==2.12.1
    nvidia-nccl-cu12==2.27.5
    →
    torch==2.12.1
    nvidia-nccl-cu13==2.29.7

Fix safety: unsafe. It is made where all of them can be replaced: the target's own metadata tells name and version of
cuDNN and NCCL. A list that was frozen repeats what the old torch asked for: such pins move to what the target asks for,
and those that it does not ask for go. Else there is none; the lines can go, since torch brings its own.

Source: https://github.com/pytorch/pytorch/issues/186591; the wheels' metadata, `torchmigrate/tables/data/wheels_read.json`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Rule, Safety, Severity, Sort
from torchmigrate.documents.references import Reference, Role

if TYPE_CHECKING:
    from torchmigrate.documents.context import ReferenceContext

rule = Rule(code="CU513", references=(Sort.REQUIREMENT,), safety=Safety.UNSAFE)


@rule.check_reference
def check(requirement: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if not requirement.name.startswith("nvidia-"):
        return
    from torchmigrate.documents import upgrade
    from torchmigrate.documents.build import chosen_for

    chosen = chosen_for([requirement.unit.environment], ctx.options)
    unit = requirement.unit
    if chosen is None or not unit.of(Sort.REQUIREMENT, "torch") or upgrade.stays(unit, ctx.options):
        return
    if unit.role is Role.LOCK or not upgrade.is_older_library(requirement, chosen):
        return
    shared = any(part in requirement.name for part in ("cudnn", "nccl"))
    yield ctx.finding(
        requirement,
        f"torch {chosen.torch} brings the libraries of CUDA {chosen.cuda}; "
        + (
            f"{requirement.name} lies in the same folder as its own"
            if shared
            else f"nothing uses {requirement.name} beside them"
        ),
        Severity.WARNING if shared else Severity.INFO,
        fix=lambda: ctx.move(requirement),
    )
