"""A library for CUDA 12 next to a torch with CUDA 13.

Why: torch requires the CUDA libraries that it was built with. From 2.11 on those are the libraries of CUDA 13
(`nvidia-nccl-cu13`). Libraries for CUDA 12 that are pinned too are installed in addition. cuDNN and NCCL of both
versions use the same folders, where one overwrites the other (`undefined symbol: ncclCommResume`); the others are in
separate folders, and nothing uses them.

    torch==2.12.1
    nvidia-nccl-cu12==2.27.5
    →
    torch==2.12.1
    nvidia-nccl-cu13==2.29.7

Fix safety: unsafe. Libraries whose names and versions the target's metadata has are replaced, and the others deleted: torch
brings its own. A list that was frozen repeats the requirements of the old torch: those pins follow the target's requirements.

Source: https://github.com/pytorch/pytorch/issues/186591; the wheels' metadata, `torchmigrate/tables/data/wheels_read.json`.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Rule, Safety, Severity, Sort
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import InstallRole, Reference

rule = Rule(code="CU513", references=(Sort.REQUIREMENT,), safety=Safety.UNSAFE)


@rule.check_reference
def check(requirement: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if not requirement.name.startswith("nvidia-"):
        return
    from torchmigrate.documents import upgrade_rules
    from torchmigrate.documents.build_choice import find_nearest_build

    chosen = find_nearest_build([requirement.unit.environment], ctx.options)
    unit = requirement.unit
    if (
        chosen is None
        or unit.role is InstallRole.LOCK
        or not unit.find_references(Sort.REQUIREMENT, "torch")
        or upgrade_rules.is_old_on_purpose(unit, ctx.options)
    ):
        return
    outdated = [
        one
        for one in unit.find_references(Sort.REQUIREMENT)
        if one.name.startswith("nvidia-") and upgrade_rules.is_outdated_library(one, chosen)
    ]
    # A list that was written by `pip freeze` has all of them: they are one finding, at the first.
    if not outdated or outdated[0].name != requirement.name:
        return
    shared = [one.name for one in outdated if any(part in one.name for part in ("cudnn", "nccl"))]
    others = list(dict.fromkeys(one.name for one in outdated))
    effect = f"nothing uses {_join_names(others)}"
    if shared:
        effect = f"{_join_names(shared)} {'overwrites one' if len(shared) == 1 else 'overwrite some'} of them"
        rest = len(others) - len(shared)
        effect += f", and nothing uses {rest} more of the list" if rest else ""
    yield ctx.finding(
        requirement,
        f"torch {chosen.torch} installs the CUDA {chosen.cuda} libraries itself; {effect}",
        Severity.WARNING if shared else Severity.INFO,
        fix=lambda: ctx.create_move_fix(requirement),
    )


def _join_names(names: list[str]) -> str:
    """Return the names of up to two packages, or the first with the count of the others."""
    return " and ".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} more"
