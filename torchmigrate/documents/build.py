"""Which build of torch environments ask for, and which one they move to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from torchmigrate.documents import images
from torchmigrate.documents.references import Environment, Unit
from torchmigrate.documents.specifiers import clauses
from torchmigrate.documents.upgrade import COMPANIONS, TORCH, lacks, no_build, tag_of
from torchmigrate.model.findings import NoFix
from torchmigrate.model.options import Options
from torchmigrate.model.versions import render
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables import matrix, wheels
from torchmigrate.tables.matrix import Build, major


def build_for(environments: Iterable[Environment], options: Options) -> Build:
    """The build to move to: the one that is asked for where the target has it, else the nearest. Raises NoFix."""
    environments = list(environments)
    variants = tags(environments, concerns_torch) or tags(environments, gives_torch)
    if len(variants) == 1 and not lacks(variant := next(iter(variants)), options):
        if wheels.published(options.target, variant) is None:
            raise NoFix(
                f"whether torch {render(options.target)} is published for {variant} is not known here"
            )
        chosen = wheels.build(options.target, variant)
    else:
        chosen = chosen_for(environments, options)
    if chosen is None:
        asked = cuda_asked(environments)
        raise NoFix(_none_as_new(asked, options) if asked else no_build(options))
    if chosen.apart and (
        companions := [one for one in environments if one.of(Sort.REQUIREMENT, *COMPANIONS)]
    ):
        name = companions[0].of(Sort.REQUIREMENT, *COMPANIONS)[0].name
        raise NoFix(f"whether {name} was published for {chosen.variant} too is not known here")
    brought = any(one.of(Sort.IMAGE, "pytorch/pytorch") for one in environments)
    if not (brought or variants):
        return _default(chosen, options)
    return chosen


def _default(nearest: Build, options: Options) -> Build:
    """What is installed where no index is named: the default build, if it has the major of the nearest. Raises NoFix."""
    default = wheels.choose(options.target, options.gpu_architectures)
    if default is None or major(default.cuda) != major(nearest.cuda):
        raise NoFix(
            f"CUDA {major(nearest.cuda)} is asked for, and no index is named here that has torch"
            f" {render(options.target)} in {nearest.variant}"
        )
    return default


def chosen_for(environments: Iterable[Environment], options: Options) -> Build | None:
    """The build of the target that is nearest to the CUDA that some environments ask for."""
    return wheels.choose(options.target, options.gpu_architectures, cuda_asked(environments))


def _none_as_new(asked: str, options: Options) -> str:
    older = wheels.choose(options.target, options.gpu_architectures)
    if older is None or major(asked) == major(older.cuda):
        return no_build(options)
    return (
        f"torch {render(options.target)} has no build for CUDA {major(asked)} as new as {asked}, and"
        " which GPUs and drivers it has to run on is not known here"
    )


def cuda_asked(environments: Iterable[Environment]) -> str:
    """The CUDA that environments ask for: by an index or a pin, else by an image, else by a variable; empty if none.

    Of several it is the newest, which runs what the others run.
    """
    environments = list(environments)
    variants = tags(environments, concerns_torch) or tags(environments, gives_torch)
    for found in (
        {wheels.cuda_of(variant) for variant in variants | _locals(environments)},
        set(_of_images(environments)),
        set(_of_variables(environments)),
    ):
        if known := found - {""}:
            return max(known, key=matrix.number)
    return ""


def cuda_now(environments: Iterable[Environment]) -> str:
    """The CUDA of what is installed today: the one that is asked for, else that of a pinned release; empty if unknown."""
    environments = list(environments)
    pins = (one for environment in environments for one in environment.of(Sort.REQUIREMENT, *TORCH))
    pinned = (clause.minor for one in pins for clause in clauses(one) if clause.is_exact and clause.minor)
    defaults = (wheels.choose(minor) for minor in pinned)
    return cuda_asked(environments) or next((one.cuda for one in defaults if one and one.cuda), "")


def is_for_cpu(environments: Iterable[Environment]) -> bool:
    """Whether environments ask for the build without CUDA, and for no other."""
    environments = list(environments)
    indexes = [index for one in environments for index in one.of(Sort.INDEX)]
    pins = [one for environment in environments for one in environment.of(Sort.REQUIREMENT, *TORCH)]
    builds = {clause.local for one in pins for clause in clauses(one)}
    builds |= {tag.name if (tag := tag_of(index)) else "" for index in indexes}
    cpu = "cpu" in builds or any(index.text.rstrip("/").endswith("/cpu") for index in indexes)
    return cpu and not builds - {"", "cpu"}


def _locals(environments: list[Environment]) -> set[str]:
    """The variants that pins name."""
    return {
        clause.local
        for environment in environments
        for one in environment.of(Sort.REQUIREMENT, *TORCH, *COMPANIONS)
        for clause in clauses(one)
        if clause.local.startswith("cu")
    }


def _of_images(environments: list[Environment]) -> Iterable[str]:
    for image in (image for one in environments for image in one.of(Sort.IMAGE)):
        pattern = images.TORCH_TAG if image.name == "pytorch/pytorch" else images.CUDA_TAG
        if image.name in ("pytorch/pytorch", "nvidia/cuda") and (found := pattern.match(image.text)):
            yield found["cuda"]


def _of_variables(environments: list[Environment]) -> Iterable[str]:
    for variable in (variable for one in environments for variable in one.of(Sort.VARIABLE, "CUDA_VERSION")):
        if found := re.match(r"\d+\.\d+", variable.text):
            yield found[0]


def tags(environments: Iterable[Environment], concerned: Callable[[Unit], bool]) -> set[str]:
    """The variants of the indexes of some units."""
    return {
        tag.name
        for environment in environments
        for unit in environment.units
        if concerned(unit)
        for index in unit.of(Sort.INDEX)
        if (tag := tag_of(index))
    }


def concerns_torch(unit: Unit) -> bool:
    """Whether torch comes from here: a command or a list that asks for it, or a choice of its build for all of them."""
    chooses = any(index.option == "--torch-backend" for index in unit.of(Sort.INDEX))
    return chooses or bool(unit.of(Sort.REQUIREMENT, *TORCH, *COMPANIONS))


def gives_torch(unit: Unit) -> bool:
    """Whether torch comes from here, or the index is here that it comes from: of a list with others, or alone."""
    environment = unit.environment
    whole_list = bool(environment.includes) and not environment.spans
    serves = bool(unit.of(Sort.INDEX)) and (whole_list or not unit.of(Sort.REQUIREMENT))
    return concerns_torch(unit) or serves
