"""A version pinned to a build that the target torch does not have.

Why: the local part of `torch==2.10.0+cu128` names one build. If the release was not published for this CUDA, or its
build has no kernels for one of the `gpu-architectures`, the installation fails or the result does not run.

    torch==2.12.1+cu128
    →
    torch==2.12.1

Fix safety: safe where the requirement pins a release that was never built for this CUDA: that cannot be installed now.
Elsewhere unsafe, as in CU501, which has the same fix.

Source: https://pytorch.org/get-started/previous-versions/; `torchmigrate/tables/data/wheels_documented.json`.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Rule, Safety, Severity, Sort
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import Reference

rule = Rule(code="CU503", references=(Sort.REQUIREMENT,), safety=Safety.SAFE)


@rule.check_reference
def check(requirement: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if requirement.name not in ("torch", "torchvision", "torchaudio"):
        return
    from torchmigrate.documents.upgrade_rules import explain_missing_local, is_old_on_purpose
    from torchmigrate.documents.version_clauses import parse_clauses

    for clause in parse_clauses(requirement):
        if reason := explain_missing_local(clause, ctx.options):
            severity = Severity.INFO if is_old_on_purpose(requirement.unit, ctx.options) else Severity.ERROR
            yield ctx.finding(
                requirement,
                f"`{clause.operator}{clause.version}`: {reason}",
                severity,
                fix=lambda: ctx.create_move_fix(requirement),
            )
