"""A requirement that excludes the target torch.

Why: a pin or an upper bound below the target decides which torch is installed, whatever else changes.

    torch==2.10.0
    torchvision==0.25.0
    →
    torch==2.12.1
    torchvision==0.27.1

A pin with a local version that the target does not have (`+cu128`) is reported by CU503 alone.

Fix safety: unsafe, since it changes the torch that is installed. It upgrades the whole environment (a list with those
that it includes, the stages of an image, a script) or nothing: companions, libraries, the index and the image change
in the same fix. Every other pin has to support the new torch, according to its own metadata, and needs a wheel for a
Python that the environment may have; otherwise the reason names all blockers, and `--relax` changes them too. There is
no fix for pins with hashes, nor for an older torch that is intended: in a test environment (as info), in a branch, in
documentation, and in a file with a version in its name.

Source: `torchmigrate/tables/data/wheels_read.json` and `requirements.json`, read from the published wheels.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Rule, Safety, Severity, Sort
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import Reference

rule = Rule(code="CU504", references=(Sort.REQUIREMENT,), safety=Safety.UNSAFE)


@rule.check_reference
def check(requirement: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if requirement.name not in ("torch", "pytorch"):
        return
    from torchmigrate.documents import upgrade_rules

    found = upgrade_rules.find_excluding_clauses(requirement, ctx.options)
    if found and not any(upgrade_rules.explain_missing_local(clause, ctx.options) for clause in found):
        is_intended = upgrade_rules.is_old_on_purpose(requirement.unit, ctx.options)
        severity = Severity.INFO if is_intended else Severity.ERROR
        yield ctx.finding(
            requirement,
            f"`{found[0].operator}{found[0].version}` excludes torch {ctx.target}",
            severity,
            fix=lambda: ctx.create_move_fix(requirement),
        )
