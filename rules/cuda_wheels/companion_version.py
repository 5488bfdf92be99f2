"""A torchvision, torchaudio or triton that does not match the version of torch.

Why: torchvision and torchaudio are built against one release of torch and pin it, and torch pins triton. With a
version for another torch, the installation fails, or the old torch is installed again.

    torch==2.12.1
    torchvision==0.25.0
    →
    torch==2.12.1
    torchvision==0.27.1

Fix safety: unsafe; it upgrades torch and everything that is installed with it to the target.

Source: the metadata of the published wheels, `torchmigrate/tables/data/companions.json`.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Rule, Safety, Severity, Sort
from torchmigrate.documents.context import ReferenceContext
from torchmigrate.documents.references import Reference, Role

rule = Rule(code="CU511", references=(Sort.REQUIREMENT,), safety=Safety.UNSAFE)


@rule.check_reference
def check(companion: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if companion.name not in ("torchvision", "torchaudio", "triton"):
        return
    from torchmigrate.documents import upgrade
    from torchmigrate.documents.shell import BRANCH
    from torchmigrate.documents.specifiers import clauses
    from torchmigrate.model.versions import render
    from torchmigrate.tables import matrix

    asked = clauses(companion)
    if companion.unit.role is Role.LOCK or any(upgrade.is_other_build(c, ctx.options) for c in asked):
        return
    torches = companion.unit.of(Sort.REQUIREMENT, *upgrade.TORCH)
    if companion.name == "triton" and not torches:
        return
    pinned = {c.minor for torch in torches for c in clauses(torch) if c.operator in ("==", "===") and c.minor}
    own = {matrix.companion_torch(companion.name, c.public) for c in asked if c.operator == "=="}
    built = next(iter(own - {None}), None)
    problem = ""
    severity = Severity.ERROR
    if len(pinned) == 1 and built is not None and built != (beside := render(next(iter(pinned)))):
        problem = f"`{companion.name}{companion.text}` needs torch {built}, but torch {beside} is pinned here"
    elif left := upgrade.excluding(companion, ctx.options):
        expected = upgrade.release_of(companion.name, ctx.options.target)[0]
        here = f"{left[0].operator}{left[0].version}"
        problem = f"torch {ctx.target} needs {companion.name} {expected}, which `{here}` excludes"
        if upgrade.stays(companion.unit, ctx.options) or companion.fixed == BRANCH:
            severity = Severity.INFO
    if problem:
        yield ctx.finding(companion, problem, severity, fix=lambda: ctx.move(companion))
