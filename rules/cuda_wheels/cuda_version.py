"""A `CUDA_VERSION` with another CUDA major than the target's build.

Why: build scripts, base images and workflows take their CUDA from this variable, and what is compiled with it needs the
CUDA major of torch. Where an index or an image of the same file uses the variable, CU501 or CU521 reports it instead.

    CUDA_VERSION: "12.8"

conda's `cuda-version`, `cudatoolkit` and `cuda-toolkit` select the CUDA that is installed with torch. Where PyTorch
itself has no build of the target for that major it is info, since conda's channels may have other builds.

What to do: set it to the CUDA of the target's build, which the message names, and check what else uses it.

Source: torch 2.12 wheel: torch/utils/cpp_extension.py (`CUDA_MISMATCH_MESSAGE`); `torchmigrate/tables/data/wheels_read.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.api import Finding, Rule, Severity, Sort
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import InstallRole, Reference, VersionStyle

rule = Rule(code="CU524", references=(Sort.VARIABLE, Sort.REQUIREMENT))


@rule.check_reference
def check(reference: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    yield from (_check_variable if reference.sort is Sort.VARIABLE else _check_conda)(reference, ctx)


_CONDA_PACKAGES = ("cudatoolkit", "cuda-toolkit", "cuda-version")
"""conda's packages that select the CUDA version."""


def _check_conda(package: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if (
        package.name not in _CONDA_PACKAGES
        or package.style is not VersionStyle.CONDA
        or package.unit.role is InstallRole.LOCK
    ):
        return
    from torchmigrate.documents.upgrade_rules import TORCH_NAMES
    from torchmigrate.tables.torch_builds import load_builds

    found = re.match(r"[=<]*((\d+)(?:\.\d+)*)", package.text)
    if found is None or not package.unit.environment.find_references(Sort.REQUIREMENT, *TORCH_NAMES):
        return
    majors = {build.cuda.split(".")[0] for build in load_builds() if build.torch == ctx.target and build.cuda}
    if majors and found[2] not in majors:
        yield ctx.finding(
            package,
            f"`{package.name}` is {found[1]}, but no build of torch {ctx.target} for CUDA {found[2]} is known",
            Severity.INFO,
        )


def _check_variable(variable: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    found = re.fullmatch(r"(\d+)\.\d+(?:\.\d+)?", variable.text)
    if variable.name != "CUDA_VERSION" or found is None or _is_reported_elsewhere(variable, ctx):
        return
    from torchmigrate.documents.upgrade_rules import TORCH_NAMES
    from torchmigrate.tables import build_selection

    if variable.option and not variable.unit.environment.find_references(Sort.REQUIREMENT, *TORCH_NAMES):
        return  # Cog's image for a list in another file, whose index chooses the build

    chosen = build_selection.choose_build(ctx.options.target, ctx.options.gpu_architectures)
    if chosen is not None and chosen.cuda and found[1] != chosen.cuda.split(".")[0]:
        chosen_elsewhere = variable.unit.role is InstallRole.TEST or variable.unit.fixed
        yield ctx.finding(
            variable,
            f"{variable.option or variable.name} is {variable.text}, but torch {chosen.torch} is built with CUDA {chosen.cuda}",
            Severity.INFO if chosen_elsewhere else Severity.WARNING,
            span=variable.value.find_span(0, len(variable.text)),
        )


def _is_reported_elsewhere(variable: Reference, ctx: ReferenceContext) -> bool:
    """Return whether an index or an image uses a variable, so that another rule reports it."""
    return any(
        piece.span == variable.value.pieces[0].span
        for other in ctx.references
        if other.sort in (Sort.INDEX, Sort.IMAGE)
        for piece in other.value.pieces
    )
