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
from torchmigrate.documents.context import ReferenceContext
from torchmigrate.documents.references import Reference

rule = Rule(code="CU512", references=(Sort.REQUIREMENT,))


@rule.check_reference
def check(requirement: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if requirement.name not in ("torchtext", "torchdata"):
        return
    from torchmigrate.documents.specifiers import clauses
    from torchmigrate.model.versions import parse
    from torchmigrate.tables import matrix

    row = next(row for row in matrix.table("ended") if row["project"] == requirement.name)
    last = row["last"]
    keeps_old = any(
        clause.is_upper and (clause.minor or (9, 9)) <= parse(last) and not clause.allows(_after(last))
        for clause in clauses(requirement)
    )
    # A package that continues without some features is a problem only for a project that stays on the old release.
    if row["torch"] is None and not keeps_old:
        return
    severity = Severity.WARNING if row["torch"] else Severity.INFO
    yield ctx.finding(requirement, f"{requirement.name} {row['what']}", severity)


def _after(release: str) -> list[str]:
    """Return the patch releases of the next minor version."""
    major, minor, *_ = release.split(".")
    return [f"{major}.{int(minor) + 1}.{patch}" for patch in range(3)]
