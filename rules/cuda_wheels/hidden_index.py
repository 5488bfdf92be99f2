"""An `--index-url` that hides the index on which the other packages are.

Why: `--index-url` replaces the package index. The index of torch's builds has torch, its companions and what they
need; everything else that is to be installed with it cannot be found there.

    --index-url https://download.pytorch.org/whl/cu130
    torch
    transformers
    →
    --extra-index-url https://download.pytorch.org/whl/cu130
    torch
    transformers

Fix safety: unsafe: with an extra index, pip takes the best match of both, which is the build of torch's own index for
the same version, and else the newest. It is made where torch is pinned, or the newest release has that build.

Source: https://pip.pypa.io/en/stable/cli/pip_install/#install-index-url; the packages on torch's index are listed in
https://github.com/pytorch/test-infra (s3_management/manage.py), here `torchmigrate/tables/data/pytorch_index.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, NoFix, Rule, Safety, Severity, Sort
from torchmigrate.documents.references import IN_DOCUMENTATION, Reference, Role, Style
from torchmigrate.model.findings import Edit

if TYPE_CHECKING:
    from torchmigrate.documents.context import ReferenceContext

rule = Rule(code="CU505", references=(Sort.INDEX,), safety=Safety.UNSAFE)

_OPTION = re.compile(rb"(?:--(?:default-)?index(?:-url)?|-i)(?=[=\s\"'])")


@rule.check_reference
def check(index: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    from torchmigrate.documents.spellings import INDEX_URL
    from torchmigrate.tables import matrix

    if index.option != "--index-url" or not INDEX_URL.fullmatch(index.text) or index.unit.role is Role.LOCK:
        return
    if not index.unit.of(Sort.REQUIREMENT, "torch"):
        return
    if any(other.option == "--extra-index-url" for other in index.unit.of(Sort.INDEX)):
        return
    known = matrix.table("pytorch_index")
    hidden = [
        r
        for r in index.unit.of(Sort.REQUIREMENT)
        if r.style is not Style.CONDA
        and r.name not in known["packages"]
        and not r.name.startswith(tuple(known["prefixes"]))
    ]
    if hidden:
        names = ", ".join(f"`{r.name}`" for r in hidden[:3])
        yield ctx.finding(
            index,
            f"`--index-url` hides the index that has {names}{' and others' if len(hidden) > 3 else ''}",
            Severity.WARNING,
            fix=lambda: _fix(index, ctx),
        )


def _fix(index: Reference, ctx: ReferenceContext) -> Fix:
    if index.unit.role is Role.DOC:
        raise NoFix(IN_DOCUMENTATION)
    option = index.removal and _OPTION.search(ctx.source.text, index.removal.start, index.span.start)
    if option is None:
        raise NoFix("where the option stands cannot be said")
    if not _is_preferred(index):
        raise NoFix(
            "torch is not pinned here, and the newest is on the other index: it would come from there"
        )
    edit = Edit(*option.span(), "--extra-index-url")
    return Fix((edit,), Safety.UNSAFE, "Add the index instead of replacing the default one")


def _is_preferred(index: Reference) -> bool:
    """Whether an installer takes torch from this index where it may choose: a build wins over the same version without."""
    from torchmigrate.documents.specifiers import clauses
    from torchmigrate.model.versions import NEWEST
    from torchmigrate.tables import wheels

    variant = index.text.rstrip("/").rpartition("/")[2]
    has_newest = variant == "cpu" or (
        variant.startswith("cu") and wheels.published(NEWEST, variant) is not False
    )
    torches = index.unit.of(Sort.REQUIREMENT, "torch")
    return has_newest or all(any(clause.is_exact for clause in clauses(one)) for one in torches)
