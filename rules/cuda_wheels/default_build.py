"""A torch from the default index, whose build has no code for one of the project's GPUs.

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
from torchmigrate.documents.context import ReferenceContext
from torchmigrate.documents.references import Reference

rule = Rule(code="CU507", references=(Sort.REQUIREMENT,))


@rule.check_reference
def check(requirement: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    wanted = ctx.options.gpu_architectures
    if (
        requirement.name != "torch"
        or not wanted
        or requirement.unit.of(Sort.INDEX)
        or "+" in requirement.text
    ):
        return
    from torchmigrate.documents import upgrade
    from torchmigrate.tables import matrix, wheels

    default = wheels.build(ctx.options.target, matrix.default_variant(ctx.target))
    if default is None or not (missing := wheels.missing(default, wanted)):
        return
    chosen = wheels.choose(ctx.options.target, wanted)
    hint = upgrade.no_build(ctx.options)
    if chosen is not None:
        hint = f"require torch=={chosen.version}+{chosen.variant} with --extra-index-url {matrix.index_url(chosen)}"
    yield ctx.finding(
        requirement,
        f"the default build of torch {default.torch} ({default.variant}) has no code for {', '.join(missing)}",
        Severity.WARNING,
        hint=hint,
    )
