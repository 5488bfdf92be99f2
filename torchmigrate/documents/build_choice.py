"""The build of torch that environments ask for today, and the build of the target to move to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from torchmigrate.documents import base_images
from torchmigrate.documents.references import Environment, InstallUnit, Reference, find_references_in
from torchmigrate.documents.upgrade_rules import (
    COMPANIONS,
    TORCH_NAMES,
    explain_missing_build,
    explain_no_build,
    find_cuda_tag,
)
from torchmigrate.documents.version_clauses import parse_clauses
from torchmigrate.model.findings import NoFix
from torchmigrate.model.rule_options import RuleOptions
from torchmigrate.model.torch_versions import render_version
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables import build_selection, torch_builds
from torchmigrate.tables.torch_builds import TorchBuild, get_major


class NoBuild(NoFix):
    """The reason why no build can be chosen; ``ways`` are the options with which the user can."""

    def __init__(self, cause: str, ways: Sequence[str] = (), advice: str = "choose another one") -> None:
        super().__init__(f"{cause}; {advice}: {', '.join(ways)}" if ways else cause)
        self.cause = cause
        self.ways = tuple(ways)


def choose_build(environments: Sequence[Environment], options: RuleOptions) -> TorchBuild:
    """Return the build to move to: the one that the user wants, or is used today, else the nearest. Raises NoFix."""
    target = render_version(options.target)
    variants = _find_named_variants(environments)
    if options.cuda:
        return _find_wanted_build(options)
    if len(variants) == 1 and not explain_missing_build(variant := next(iter(variants)), options):
        if build_selection.is_published(options.target, variant) is None:
            raise NoFix(f"it is unclear whether torch {target} has a {variant} build")
        chosen = build_selection.find_build(options.target, variant)
    else:
        chosen = find_nearest_build(environments, options)
    if chosen is None:
        raise _explain_no_build(find_requested_cuda(environments), options)
    companions = find_references_in(environments, Sort.REQUIREMENT, *COMPANIONS)
    # A build that was published later may have come without builds of the companions, and without an image.
    if chosen.apart and companions:
        unclear = f"it is unclear whether {companions[0].name} has a {chosen.variant} build too"
        raise NoBuild(unclear, list_ways_out(options), "choose a build")
    if variants or find_references_in(environments, Sort.IMAGE, "pytorch/pytorch"):
        return chosen
    # No index is named, so that an installer takes the default build; it needs one for another CUDA.
    default = build_selection.choose_build(options.target, options.gpu_architectures)
    same = default is not None and get_major(default.cuda) == get_major(chosen.cuda)
    # The lists of Cog take no index, and its image has the CUDA that the fix names.
    is_cog = any(
        base_images.find_cog_versions(one) and one.find_references(Sort.REQUIREMENT, *TORCH_NAMES)
        for one in environments
    )
    return default if default is not None and (same or is_cog) else chosen


def _find_wanted_build(options: RuleOptions) -> TorchBuild:
    """Return the build that the user chose. Raises NoFix if the target has no such build."""
    found = build_selection.find_build(options.target, options.cuda)
    if found is not None and build_selection.is_published(options.target, options.cuda):
        return found
    published = ", ".join(build_selection.list_variants(options.target, "cu"))
    raise NoFix(f"torch {render_version(options.target)} has no {options.cuda} build, but {published}")


def list_ways_out(options: RuleOptions) -> list[str]:
    """Return the builds of the target from which the user can choose, each with the driver and the GPUs that it needs."""
    found = []
    for variant in build_selection.list_variants(options.target, "cu"):
        build = build_selection.find_build(options.target, variant)
        if build is None or not build.cuda:
            continue
        gpus = sorted(
            {name.split("_")[1] for name in build.compiled if name.startswith("sm_")}, key=parse_gpu
        )
        span = f", GPUs {render_gpu(gpus[0])} to {render_gpu(gpus[-1])}" if gpus else ""
        more = ", published without torchvision and torchaudio as far as known" if build.apart else ""
        driver = torch_builds.find_minimum_driver(build.cuda, "Linux")
        found.append(f"--cuda {variant} (driver {driver} or newer{span}{more})")
    return found


def parse_gpu(digits: str) -> int:
    """Return a number by which compute capabilities are sorted: 100 for ``100a``."""
    return int(digits.rstrip("af"))


def render_gpu(digits: str) -> str:
    """Return a compute capability with its dot: ``10.0`` for ``100``."""
    digits = digits.rstrip("af")
    return f"{digits[:-1]}.{digits[-1]}"


def needs_index(environments: Sequence[Environment], chosen: TorchBuild) -> bool:
    """Return whether an index has to be added for the chosen build, since none is named and the default one lacks it."""
    named = _find_named_variants(environments)
    brought = find_references_in(environments, Sort.IMAGE, "pytorch/pytorch")
    return not (chosen.default or named or brought or requires_only_cpu(environments))


def find_nearest_build(environments: Sequence[Environment], options: RuleOptions) -> TorchBuild | None:
    """Return the build of the target that is nearest to the CUDA that environments ask for."""
    return build_selection.choose_build(
        options.target, options.gpu_architectures, find_requested_cuda(environments)
    )


def _explain_no_build(asked: str, options: RuleOptions) -> NoBuild:
    """Return why the target has no build for the CUDA version ``asked``, and from which ones the user can choose."""
    older = build_selection.choose_build(options.target, options.gpu_architectures) if asked else None
    if older is None or get_major(asked) == get_major(older.cuda):
        return NoBuild(explain_no_build(options), list_ways_out(options) if older else ())
    none = f"torch {render_version(options.target)} has no build for CUDA {get_major(asked)} that is at least {asked}"
    return NoBuild(none, list_ways_out(options))


def find_requested_cuda(environments: Sequence[Environment]) -> str:
    """Return the CUDA version that an index or a pin asks for, else an image, else a variable; empty if none does.

    Of several it is the newest, which also runs what was built for the others.
    """
    pins = find_references_in(environments, Sort.REQUIREMENT, *TORCH_NAMES, *COMPANIONS)
    variants = _find_named_variants(environments)
    named = {clause.local for one in pins for clause in parse_clauses(one)}
    images = [
        (base_images.TORCH_TAG if image.name == "pytorch/pytorch" else base_images.CUDA_TAG).match(image.text)
        for image in find_references_in(environments, Sort.IMAGE, "pytorch/pytorch", "nvidia/cuda")
    ]
    variables = find_references_in(environments, Sort.VARIABLE, "CUDA_VERSION")
    for found in (
        {build_selection.parse_variant_cuda(variant) for variant in variants | named},
        {match["cuda"] for match in images if match},
        {match[0] for one in variables if (match := re.match(r"\d+\.\d+", one.text))},
    ):
        if known := found - {""}:
            return max(known, key=torch_builds.parse_number)
    return ""


def _find_named_variants(environments: Sequence[Environment]) -> set[str]:
    """Return the variants of the indexes beside a torch, else of those for a torch that is required elsewhere."""
    beside = find_index_variants(environments, requires_torch)
    return beside or find_index_variants(environments, provides_torch)


def find_current_cuda(environments: Sequence[Environment]) -> str:
    """Return the CUDA version of what is installed today: the one asked for, else that of a pinned torch; empty if unknown."""
    pins = find_references_in(environments, Sort.REQUIREMENT, *TORCH_NAMES)
    pinned = (
        clause.minor_version
        for one in pins
        for clause in parse_clauses(one)
        if clause.is_exact and clause.minor_version
    )
    defaults = (build_selection.choose_build(minor) for minor in pinned)
    return find_requested_cuda(environments) or next((one.cuda for one in defaults if one and one.cuda), "")


def requires_only_cpu(environments: Sequence[Environment]) -> bool:
    """Return whether environments ask for the CPU build and for no other."""
    indexes = find_references_in(environments, Sort.INDEX)
    pins = find_references_in(environments, Sort.REQUIREMENT, *TORCH_NAMES)
    builds = {clause.local for one in pins for clause in parse_clauses(one)}
    builds |= {tag.name if (tag := find_cuda_tag(index)) else "" for index in indexes}
    cpu = "cpu" in builds or any(index.text.rstrip("/").endswith("/cpu") for index in indexes)
    cpu |= any(map(_is_cpu_of_conda, find_references_in(environments, Sort.REQUIREMENT, *_CPU_OF_CONDA)))
    return cpu and not builds - {"", "cpu"}


_CPU_OF_CONDA = ("pytorch", "pytorch-mutex", "cpuonly")
"""The packages of conda whose name or build chooses the CPU."""


def _is_cpu_of_conda(one: Reference) -> bool:
    """Return whether a requirement of conda is for the CPU: ``cpuonly``, ``pytorch=2.1=py3.11_cpu_0``, ``pytorch-mutex=1.0=cpu``."""
    return one.name == "cpuonly" or re.search(r"=(?:[\w.]*_)?cpu(?:_\w+)?\Z", one.text) is not None


def find_index_variants(
    environments: Iterable[Environment], concerned: Callable[[InstallUnit], bool]
) -> set[str]:
    """Return the variants (``cu130``) of the indexes in those units that ``concerned`` selects."""
    units = [unit for environment in environments for unit in environment.units if concerned(unit)]
    indexes = [index for unit in units for index in unit.find_references(Sort.INDEX)]
    return {tag.name for index in indexes if (tag := find_cuda_tag(index))}


def requires_torch(unit: InstallUnit) -> bool:
    """Return whether a unit requires torch or a companion, or chooses the build with ``--torch-backend``."""
    chooses = any(index.option == "--torch-backend" for index in unit.find_references(Sort.INDEX))
    return chooses or bool(unit.find_references(Sort.REQUIREMENT, *TORCH_NAMES, *COMPANIONS))


def provides_torch(unit: InstallUnit) -> bool:
    """Return whether a unit requires torch, or names the index for a torch that is required elsewhere."""
    environment = unit.environment
    whole_list = bool(environment.includes) and not environment.spans
    may_serve = whole_list or not unit.find_references(Sort.REQUIREMENT)
    return requires_torch(unit) or (may_serve and bool(unit.find_references(Sort.INDEX)))
