"""An `--index-url` that hides the default index, which has the other packages.

Why: `--index-url` replaces the package index. The index of torch's builds has torch, its companions and their
dependencies; other packages in the same installation cannot be found there.

    --index-url https://download.pytorch.org/whl/cu130
    torch
    transformers
    →
    --extra-index-url https://download.pytorch.org/whl/cu130
    torch
    transformers

Fix safety: unsafe: with an extra index, pip installs the newest version of both, and of equal versions the build of
torch's own index. There is a fix where torch is pinned, or the newest release has that build.

Source: https://pip.pypa.io/en/stable/cli/pip_install/#install-index-url; the packages on torch's index are listed in
https://github.com/pytorch/test-infra (s3_management/manage.py), here `torchmigrate/tables/data/pytorch_index.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.api import Finding, Fix, NoFix, Rule, Safety, Severity, Sort
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import IN_DOCUMENTATION, InstallRole, Reference, VersionStyle
from torchmigrate.model.findings import Edit

rule = Rule(code="CU505", references=(Sort.INDEX,), safety=Safety.UNSAFE)

_OPTION = re.compile(rb"(?:--(?:default-)?index(?:-url)?|-i)(?=[=\s\"'])")


@rule.check_reference
def check(index: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    from torchmigrate.documents.reference_patterns import INDEX_URL
    from torchmigrate.tables import torch_builds

    if (
        index.option != "--index-url"
        or not INDEX_URL.fullmatch(index.text)
        or index.unit.role is InstallRole.LOCK
    ):
        return
    if not index.unit.find_references(Sort.REQUIREMENT, "torch"):
        return
    if any(other.option == "--extra-index-url" for other in index.unit.find_references(Sort.INDEX)):
        return
    known = torch_builds.load_table("pytorch_index")
    hidden = [
        r
        for r in index.unit.find_references(Sort.REQUIREMENT)
        if r.style is not VersionStyle.CONDA
        and r.name not in known["packages"]
        and not r.name.startswith(tuple(known["prefixes"]))
    ]
    if hidden:
        names = ", ".join(f"`{r.name}`" for r in hidden[:3])
        yield ctx.finding(
            index,
            f"`--index-url` hides the default index, which has {names}{' and others' if len(hidden) > 3 else ''}",
            Severity.WARNING,
            fix=lambda: _create_fix(index, ctx),
        )


def _create_fix(index: Reference, ctx: ReferenceContext) -> Fix:
    if index.unit.role is InstallRole.DOC:
        raise NoFix(IN_DOCUMENTATION)
    option = index.removal and _OPTION.search(ctx.source.text, index.removal.start, index.span.start)
    if option is None:
        raise NoFix("the option is not written next to the URL")
    if not _prefers_torch_index(index):
        raise NoFix("torch is not pinned here, so a newer version from the default index would be installed")
    edit = Edit(*option.span(), "--extra-index-url")
    return Fix((edit,), Safety.UNSAFE, "Add the index instead of replacing the default one")


def _prefers_torch_index(index: Reference) -> bool:
    """Return whether an installer prefers this index for torch: of equal versions, the one with a local version wins."""
    from torchmigrate.documents.version_clauses import parse_clauses
    from torchmigrate.model.torch_versions import NEWEST
    from torchmigrate.tables.build_selection import is_published

    variant = index.text.rstrip("/").rpartition("/")[2]
    has_newest = variant == "cpu" or (variant.startswith("cu") and is_published(NEWEST, variant) is not False)
    torches = index.unit.find_references(Sort.REQUIREMENT, "torch")
    return has_newest or all(any(clause.is_exact for clause in parse_clauses(one)) for one in torches)
