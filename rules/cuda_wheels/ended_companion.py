"""A package of the torch family that is no longer developed, or has lost its main features.

Why: torchtext's last release was built for torch 2.3, and its C++ part does not load with any other. torchdata
continues without DataPipes and DataLoader2; its last release with them is 0.9.0.

    torchtext==0.18.0

What to do: replace torchtext by another tokenizer library, or copy its Python parts into the project; replace DataPipes
by `torch.utils.data` or the nodes of newer torchdata.

Source: https://github.com/pytorch/text/releases/tag/v0.18.0, https://github.com/meta-pytorch/data/releases/tag/v0.9.0;
`torchmigrate/tables/data/ended.json`.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Rule, Severity, Sort
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import Reference

rule = Rule(code="CU512", references=(Sort.REQUIREMENT,))


@rule.check_reference
def check(requirement: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if requirement.name not in ("torchtext", "torchdata"):
        return
    from torchmigrate.documents.version_clauses import parse_clauses
    from torchmigrate.model.torch_versions import parse_version
    from torchmigrate.tables import torch_builds

    row = next(row for row in torch_builds.load_table("ended") if row["project"] == requirement.name)
    last = row["last"]
    major, minor, *_ = last.split(".")
    following = [f"{major}.{int(minor) + 1}.{patch}" for patch in range(3)]
    keeps_old = any(
        clause.is_upper
        and (clause.minor_version or (9, 9)) <= parse_version(last)
        and not clause.allows_any(following)
        for clause in parse_clauses(requirement)
    )
    # A package that continues without some features is a problem only for a project that stays on the old release.
    if row["torch"] is None and not keeps_old:
        return
    severity = Severity.WARNING if row["torch"] else Severity.INFO
    yield ctx.finding(requirement, f"{requirement.name} {row['what']}", severity)
