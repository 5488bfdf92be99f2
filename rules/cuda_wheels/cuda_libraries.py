"""A library of CUDA 12 pinned beside a torch of CUDA 13.

Why: torch from the index brings the CUDA libraries that it was built with, and pins them. From 2.11 on these are those
of CUDA 13 (`nvidia-nccl-cu13`). The older ones pinned beside them are installed too, into the same folders, and the one
that is loaded first wins: `undefined symbol: ncclCommResume`.

    torch==2.12.1
    nvidia-nccl-cu12==2.27.5
    →
    torch==2.12.1
    nvidia-nccl-cu13==2.29.7

Fix safety: unsafe. It is made for those libraries whose name and version the target's own metadata tells (cuDNN and
NCCL); the lines of others can go, since torch brings them.

Source: https://github.com/pytorch/pytorch/issues/186591; the wheels' metadata, `torchmigrate/tables/data/wheels_read.json`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, NoFix, Rule, Safety, Severity, Sort
from torchmigrate.documents.references import Reference, Role

if TYPE_CHECKING:
    from torchmigrate.documents.context import ReferenceContext

rule = Rule(code="CU513", references=(Sort.REQUIREMENT,), safety=Safety.UNSAFE)


@rule.check_reference
def check(requirement: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if not requirement.name.startswith("nvidia-"):
        return
    from torchmigrate.documents import upgrade
    from torchmigrate.tables import wheels

    chosen = wheels.choose(ctx.options.target, ctx.options.gpu_architectures)
    unit = requirement.unit
    if chosen is None or not unit.of(Sort.REQUIREMENT, "torch") or upgrade.stays(unit, ctx.options):
        return
    if unit.role is Role.LOCK or not upgrade.is_older_library(requirement, chosen):
        return
    known = upgrade.library_edit(requirement, ctx.options)
    yield ctx.finding(
        requirement,
        f"torch {chosen.torch} brings the libraries of CUDA {chosen.cuda}; {requirement.name} beside them gets in their way",
        Severity.WARNING,
        fix=lambda: _fix(requirement, ctx, known=known is not None),
    )


def _fix(requirement: Reference, ctx: ReferenceContext, *, known: bool) -> Fix:
    if not known:
        raise NoFix("remove the line: torch brings its own")
    from torchmigrate.documents import upgrade

    return upgrade.fix(requirement, ctx.source, ctx.options)
