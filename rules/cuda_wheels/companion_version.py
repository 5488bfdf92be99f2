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
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import InstallRole, Reference

rule = Rule(code="CU511", references=(Sort.REQUIREMENT,), safety=Safety.UNSAFE)


@rule.check_reference
def check(companion: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if companion.name not in ("torchvision", "torchaudio", "triton"):
        return
    from torchmigrate.documents import upgrade_rules
    from torchmigrate.documents.shell_commands import IN_BRANCH
    from torchmigrate.documents.version_clauses import parse_clauses
    from torchmigrate.model.torch_versions import render_version
    from torchmigrate.tables.torch_builds import find_companion_torch

    asked = parse_clauses(companion)
    if companion.unit.role is InstallRole.LOCK or any(
        upgrade_rules.explain_missing_local(c, ctx.options) for c in asked
    ):
        return
    torches = companion.unit.find_references(Sort.REQUIREMENT, *upgrade_rules.TORCH_NAMES)
    if companion.name == "triton" and not torches:
        return
    pinned = {
        c.minor_version
        for torch in torches
        for c in parse_clauses(torch)
        if c.operator in ("==", "===") and c.minor_version
    }
    own = {find_companion_torch(companion.name, c.public_version) for c in asked if c.operator == "=="}
    built = next(iter(own - {None}), None)
    problem = ""
    severity = Severity.ERROR
    if len(pinned) == 1 and built is not None and built != (beside := render_version(next(iter(pinned)))):
        problem = f"`{companion.shown}` needs torch {built}, but torch {beside} is pinned here"
    elif left := upgrade_rules.find_excluding_clauses(companion, ctx.options):
        expected = upgrade_rules.list_companion_releases(companion.name, ctx.options.target)[0]
        here = f"{left[0].operator}{left[0].version}"
        problem = f"torch {ctx.target} needs {companion.name} {expected}, which `{here}` excludes"
        if upgrade_rules.is_old_on_purpose(companion.unit, ctx.options) or companion.fixed == IN_BRANCH:
            severity = Severity.INFO
    if problem:
        yield ctx.finding(companion, problem, severity, fix=lambda: ctx.create_move_fix(companion))
