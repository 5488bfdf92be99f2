"""An index for a build that the target torch does not have.

Why: every build of torch has its own index, `https://download.pytorch.org/whl/<variant>`, and each release is published
for a few CUDA versions only. `cu128` ends with torch 2.11 and `cu126` with 2.14. If an index lacks a release, the
installer takes the newest release that is there, and the upgrade silently does not happen; or, with the version
pinned, it finds nothing. With the setting `gpu-architectures`, an index is also reported if its build has no kernels for
one of them. Indexes for ROCm are reported too, but not changed, since no file tells which ROCm the machines support.

    --index-url https://download.pytorch.org/whl/cu128
    torch>=2.4
    →
    --index-url https://download.pytorch.org/whl/cu132
    torch>=2.4

The fix follows the target, the present CUDA and the setting `gpu-architectures`: a project with CUDA 12 keeps it while
the target has a build for it, since another major needs another driver. In a command for Linux the URL of the default
build is deleted; a list keeps its index, since the package index has no CUDA build for Windows. Names of indexes
(`pytorch-cu128`), pins, local versions and companions in the same environment change in the same fix. A value that
comes from a variable of the same file is changed where it is written.

Fix safety: safe if the file itself requires a torch that the index does not have (`torch>=2.12` from `cu128`): that
cannot be installed now. Elsewhere it is unsafe, since it changes which torch is installed, and a CUDA 13 build needs a
newer driver than a CUDA 12 build. Lock files are reported and never edited.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/, https://pytorch.org/get-started/previous-versions/; the
table is `torchmigrate/tables/data/wheels_documented.json`, with a source for every row.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Fix, NoFix, Rule, Safety, Severity, Sort
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import InstallRole, Reference

rule = Rule(code="CU501", references=(Sort.INDEX,), safety=Safety.SAFE)


@rule.check_reference
def check(index: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    from torchmigrate.documents import upgrade_rules
    from torchmigrate.tables import build_selection
    from torchmigrate.tables.torch_builds import get_major

    tag = upgrade_rules.find_cuda_tag(index) or upgrade_rules.find_rocm_tag(index)
    nightly = upgrade_rules.find_nightly_variant(index)
    if nightly is not None and (reason := upgrade_rules.explain_missing_build(nightly, ctx.options)):
        yield ctx.finding(index, f"`nightly/{nightly}`: {reason}", Severity.INFO)
    if tag is None or not (reason := upgrade_rules.explain_missing_build(tag.name, ctx.options)):
        return
    if (not index.option and _is_used_by_command(index, ctx)) or _serves_other_packages(index, ctx):
        return  # the command that uses it is reported instead, or does not install torch
    asked = build_selection.parse_variant_cuda(tag.name)
    chosen = build_selection.choose_build(ctx.options.target, ctx.options.gpu_architectures, asked)
    needs_driver = asked and chosen is not None and get_major(chosen.cuda) != get_major(asked)
    tests_older = index.unit.role is InstallRole.TEST and any(
        other.undecided or upgrade_rules.find_excluding_clauses(other, ctx.options)
        for other in (index.unit.references if index.option else ctx.references)
        if other.sort is Sort.REQUIREMENT and other.name in upgrade_rules.TORCH_NAMES
    )
    yield ctx.finding(
        index,
        f"`{tag.name}`: {reason}",
        Severity.INFO if tests_older else Severity.ERROR,
        span=index.value.find_span(tag.start, tag.end),
        fix=lambda: _create_fix(index, ctx, tag.name, tests_older=tests_older),
        hint=build_selection.render_driver_note(chosen) if chosen is not None and needs_driver else None,
    )


def _create_fix(index: Reference, ctx: ReferenceContext, variant: str, *, tests_older: bool) -> Fix:
    if tests_older:
        raise NoFix("tests install several versions of torch here on purpose")
    if variant.startswith("rocm"):
        from torchmigrate.tables.build_selection import list_variants

        there = " and ".join(list_variants(ctx.options.target, "rocm"))
        has = f"; torch {ctx.target} has {there}" if there else ""
        raise NoFix(f"it is unclear which ROCm the machines' drivers support{has}")
    if not index.option and index.unit.role is not InstallRole.LOCK:
        raise NoFix("it is unclear what uses this URL")
    return ctx.create_move_fix(index)


def _serves_other_packages(index: Reference, ctx: ReferenceContext) -> bool:
    """Return whether a command or a list uses an index for other packages than torch."""
    from torchmigrate.documents import upgrade_rules
    from torchmigrate.documents.build_choice import provides_torch

    unit = index.unit
    installs_torch = unit.find_references(
        Sort.REQUIREMENT, *upgrade_rules.TORCH_NAMES, *upgrade_rules.COMPANIONS
    )
    if not (index.option and unit.find_references(Sort.REQUIREMENT)) or installs_torch:
        return False
    return not (provides_torch(unit) and ctx.has_related_torch(index))


def _is_used_by_command(index: Reference, ctx: ReferenceContext) -> bool:
    """Return whether a command uses the variable that holds an index."""
    places = {piece.span for piece in index.value.pieces}
    return any(
        other.option and not places.isdisjoint(piece.span for piece in other.value.pieces)
        for other in ctx.references
        if other.sort is Sort.INDEX and other is not index
    )
