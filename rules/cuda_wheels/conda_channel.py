"""conda's `pytorch-cuda`, whose channel ended with torch 2.5.

Why: the channel `pytorch` has no release after 2.5, and `pytorch-cuda`, which selects the build there, exists in no
other channel. On conda-forge, `cuda-version` selects the build.

    - pytorch=2.4
    - pytorch-cuda=12.1

What to do: use `pytorch-gpu` and `cuda-version` from conda-forge, or install torch with pip.

Fix safety: unsafe: the fix moves torch, and what belongs to it, from conda's list to that for pip, or from a command of conda
to one of pip, where nothing else that conda installs depends on torch. The environment gets other builds of torch and CUDA.

Source: https://github.com/pytorch/pytorch/issues/138506
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Rule, Safety, Severity, Sort
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import InstallRole, Reference

rule = Rule(code="CU515", references=(Sort.REQUIREMENT,), safety=Safety.UNSAFE)

LAST = (2, 5)


@rule.check_reference
def check(requirement: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if requirement.name != "pytorch-cuda" or ctx.options.target <= LAST:
        return
    from torchmigrate.model.torch_versions import render_version

    yield ctx.finding(
        requirement,
        f"`pytorch-cuda` exists only in the channel `pytorch`, which ended with torch {render_version(LAST)}; "
        f"the target is {ctx.target}",
        Severity.INFO if requirement.unit.role in (InstallRole.TEST, InstallRole.LOCK) else Severity.ERROR,
        fix=lambda: ctx.create_move_fix(requirement),
    )
