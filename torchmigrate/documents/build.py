"""The build of torch that environments ask for today, and the build of the target to move to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from torchmigrate.documents import images
from torchmigrate.documents.references import Environment, Unit, references_in
from torchmigrate.documents.specifiers import clauses
from torchmigrate.documents.upgrade import COMPANIONS, TORCH, lacks, no_build, tag_of
from torchmigrate.model.findings import NoFix
from torchmigrate.model.options import Options
from torchmigrate.model.versions import render
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables import matrix, wheels
from torchmigrate.tables.matrix import Build, major


def build_for(environments: Sequence[Environment], options: Options) -> Build:
    """Return the build to move to: the one that is used today if the target has it, else the nearest. Raises NoFix."""
    variants = tags(environments, concerns_torch) or tags(environments, gives_torch)
    if len(variants) == 1 and not lacks(variant := next(iter(variants)), options):
        if wheels.published(options.target, variant) is None:
            raise NoFix(f"it is unclear whether torch {render(options.target)} has a {variant} build")
        chosen = wheels.build(options.target, variant)
    else:
        chosen = chosen_for(environments, options)
    if chosen is None:
        raise NoFix(_why_none(cuda_asked(environments), options))
    companions = references_in(environments, Sort.REQUIREMENT, *COMPANIONS)
    # A build that was published later may have come without builds of the companions.
    if chosen.apart and companions:
        raise NoFix(f"it is unclear whether {companions[0].name} has a {chosen.variant} build too")
    if variants or references_in(environments, Sort.IMAGE, "pytorch/pytorch"):
        return chosen
    # No index is named, so that an installer takes the default build.
    default = wheels.choose(options.target, options.gpu_architectures)
    if default is None or major(default.cuda) != major(chosen.cuda):
        raise NoFix(
            f"CUDA {major(chosen.cuda)} is required, but no index here has torch {render(options.target)}"
            f" for {chosen.variant}"
        )
    return default


def chosen_for(environments: Sequence[Environment], options: Options) -> Build | None:
    """Return the build of the target that is nearest to the CUDA that environments ask for."""
    return wheels.choose(options.target, options.gpu_architectures, cuda_asked(environments))


def _why_none(asked: str, options: Options) -> str:
    """Return why the target has no build for the CUDA version ``asked``."""
    older = wheels.choose(options.target, options.gpu_architectures) if asked else None
    if older is None or major(asked) == major(older.cuda):
        return no_build(options)
    return (
        f"torch {render(options.target)} has no build for CUDA {major(asked)} that is at least {asked}, and it is"
        " unclear which GPUs and drivers have to be supported"
    )


def cuda_asked(environments: Sequence[Environment]) -> str:
    """Return the CUDA version that an index or a pin asks for, else an image, else a variable; empty if none does.

    Of several it is the newest, which also runs what was built for the others.
    """
    variants = tags(environments, concerns_torch) or tags(environments, gives_torch)
    for found in (
        {wheels.cuda_of(variant) for variant in variants | _pinned_variants(environments)},
        set(_image_cudas(environments)),
        set(_variable_cudas(environments)),
    ):
        if known := found - {""}:
            return max(known, key=matrix.number)
    return ""


def cuda_now(environments: Sequence[Environment]) -> str:
    """Return the CUDA version of what is installed today: the one asked for, else that of a pinned torch; empty if unknown."""
    pins = references_in(environments, Sort.REQUIREMENT, *TORCH)
    pinned = (clause.minor for one in pins for clause in clauses(one) if clause.is_exact and clause.minor)
    defaults = (wheels.choose(minor) for minor in pinned)
    return cuda_asked(environments) or next((one.cuda for one in defaults if one and one.cuda), "")


def is_for_cpu(environments: Sequence[Environment]) -> bool:
    """Return whether environments ask for the CPU build and for no other."""
    indexes = references_in(environments, Sort.INDEX)
    pins = references_in(environments, Sort.REQUIREMENT, *TORCH)
    builds = {clause.local for one in pins for clause in clauses(one)}
    builds |= {tag.name if (tag := tag_of(index)) else "" for index in indexes}
    cpu = "cpu" in builds or any(index.text.rstrip("/").endswith("/cpu") for index in indexes)
    return cpu and not builds - {"", "cpu"}


def _pinned_variants(environments: Sequence[Environment]) -> set[str]:
    pins = references_in(environments, Sort.REQUIREMENT, *TORCH, *COMPANIONS)
    return {clause.local for one in pins for clause in clauses(one) if clause.local.startswith("cu")}


def _image_cudas(environments: Sequence[Environment]) -> Iterable[str]:
    for image in references_in(environments, Sort.IMAGE, "pytorch/pytorch", "nvidia/cuda"):
        pattern = images.TORCH_TAG if image.name == "pytorch/pytorch" else images.CUDA_TAG
        if found := pattern.match(image.text):
            yield found["cuda"]


def _variable_cudas(environments: Sequence[Environment]) -> Iterable[str]:
    for variable in references_in(environments, Sort.VARIABLE, "CUDA_VERSION"):
        if found := re.match(r"\d+\.\d+", variable.text):
            yield found[0]


def tags(environments: Iterable[Environment], concerned: Callable[[Unit], bool]) -> set[str]:
    """Return the variants (``cu130``) of the indexes in those units that ``concerned`` selects."""
    units = [unit for environment in environments for unit in environment.units if concerned(unit)]
    return {tag.name for unit in units for index in unit.of(Sort.INDEX) if (tag := tag_of(index))}


def concerns_torch(unit: Unit) -> bool:
    """Return whether a unit requires torch or a companion, or chooses the build with ``--torch-backend``."""
    chooses = any(index.option == "--torch-backend" for index in unit.of(Sort.INDEX))
    return chooses or bool(unit.of(Sort.REQUIREMENT, *TORCH, *COMPANIONS))


def gives_torch(unit: Unit) -> bool:
    """Return whether a unit requires torch, or names the index for a torch that is required elsewhere."""
    environment = unit.environment
    whole_list = bool(environment.includes) and not environment.spans
    serves = bool(unit.of(Sort.INDEX)) and (whole_list or not unit.of(Sort.REQUIREMENT))
    return concerns_torch(unit) or serves
