"""A torch from the default index, whose build has no kernels for one of the project's GPUs.

Why: the setting `gpu-architectures` names compute capabilities that the build on the package index lacks: from 2.11 on
that is a CUDA 13 build, without anything below 7.5. The build `cu126` still supports them, up to torch 2.14.

    torch==2.12.1
    →
    --extra-index-url https://download.pytorch.org/whl/cu126
    torch==2.12.1+cu126

There is no fix, since it is unclear which of the project's files are for those machines.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/; `torchmigrate/tables/data/wheels_read.json`.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Rule, Severity, Sort
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import Reference

rule = Rule(code="CU507", references=(Sort.REQUIREMENT,))


@rule.check_reference
def check(requirement: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    wanted = ctx.options.gpu_architectures
    if (
        requirement.name != "torch"
        or not wanted
        or requirement.unit.find_references(Sort.INDEX)
        or "+" in requirement.text
    ):
        return
    from torchmigrate.documents import upgrade_rules
    from torchmigrate.tables import build_selection, torch_builds

    default = build_selection.find_build(ctx.options.target, torch_builds.find_default_variant(ctx.target))
    if default is None or not (missing := build_selection.find_missing_architectures(default, wanted)):
        return
    chosen = build_selection.choose_build(ctx.options.target, wanted)
    hint = upgrade_rules.explain_no_build(ctx.options)
    if chosen is not None:
        hint = f"require torch=={chosen.version}+{chosen.variant} with --extra-index-url {torch_builds.find_index_url(chosen)}"
    yield ctx.finding(
        requirement,
        f"the default build of torch {default.torch} ({default.variant}) has no kernels for {', '.join(missing)}",
        Severity.WARNING,
        hint=hint,
    )
