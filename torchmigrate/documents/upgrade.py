"""What single references mean for an upgrade: which build an index gives, and which condition keeps the target out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from torchmigrate.documents import images
from torchmigrate.documents.references import Reference, Role, Unit
from torchmigrate.documents.specifiers import Clause, applies, clauses, patches
from torchmigrate.documents.spellings import INDEX_URL
from torchmigrate.model.findings import Edit
from torchmigrate.model.options import Options
from torchmigrate.model.versions import Version, parse, render
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables import matrix, wheels
from torchmigrate.tables.matrix import Build

TORCH = ("torch", "pytorch")
COMPANIONS = ("torchvision", "torchaudio")

_TAG = re.compile(r"(?:/whl|/pytorch-wheels)/(?:(?P<channel>test|nightly)/)?(?P<tag>cu\d{2,3})(?=[/\s]|\Z)")
_ROCM = re.compile(r"/whl/(?:test/)?(?P<tag>rocm\d+(?:\.\d+)+)(?=[/\s]|\Z)")
_BACKEND = re.compile(r"cu\d{2,3}")
_OFFICIAL = re.compile(r"https?://download(?:-r2)?\.pytorch\.org/")


@dataclass(frozen=True, slots=True)
class Tag:
    """The variant that an index gives; ``start`` and ``end`` are where it stands in the reference's value."""

    name: str
    start: int
    end: int


def tag_of(reference: Reference) -> Tag | None:
    """The CUDA variant that an index or a wheel's URL names; None for others, and for nightly builds."""
    if reference.undecided:
        return None
    if reference.option == "--torch-backend":
        found = _BACKEND.fullmatch(reference.text)
        return Tag(found[0], 0, len(found[0])) if found else None
    match = _TAG.search(reference.text)
    if match is None or match["channel"] == "nightly" or not INDEX_URL.fullmatch(reference.text):
        return None
    return Tag(match["tag"], *match.span("tag"))


def nightly_of(reference: Reference) -> str | None:
    """The CUDA variant of an index of nightly builds; None for others."""
    match = None if reference.undecided else _TAG.search(reference.text)
    return match["tag"] if match is not None and match["channel"] == "nightly" else None


def rocm_of(reference: Reference) -> Tag | None:
    """The ROCm variant that an index names; None for others, and for nightly builds."""
    match = None if reference.undecided else _ROCM.search(reference.text)
    return Tag(match["tag"], *match.span("tag")) if match is not None else None


def lacks(tag: str, options: Options) -> str:
    """Why a variant, CUDA or ROCm, does not serve the target, as the end of a sentence; empty if it does, or nobody knows."""
    target = render(options.target)
    if wheels.published(options.target, tag) is False:
        last = wheels.last_with(tag)
        since = f"; the last release that has it is {render(last)}" if last and last < options.target else ""
        return f"torch {target} has no {tag} build{since}"
    found = wheels.build(options.target, tag)
    if found is not None and found.compiled and (missing := wheels.missing(found, options.gpu_architectures)):
        return f"the {tag} build of torch {target} has no code for {', '.join(missing)}"
    return ""


def excluding(reference: Reference, options: Options) -> list[Clause]:
    """The conditions of a requirement on torch that keep the target out, and would let an older one in."""
    allowed = patches(wheels.release(options.target))
    if not applies(reference, wheels.python_range(options.target)):
        return []
    return [
        clause
        for clause in clauses(reference)
        if clause.is_upper and not clause.allows(allowed) and (clause.minor or (0, 0)) <= options.target
    ]


def release_of(name: str, target: Version) -> list[str]:
    """The releases of a companion that go with a torch; the first is the one to write."""
    if name == "triton":
        pinned = wheels.library(target, "triton")
        if pinned is None:
            return []
        release = pinned.lstrip("~=")
        return patches(release) if pinned.startswith("~=") else [release]
    found = matrix.companion(name, render(target))
    return [found, *patches(found)] if found else []


def left_behind(reference: Reference, options: Options) -> list[Clause]:
    """The conditions of a companion's requirement that keep out the release that goes with the target."""
    allowed = release_of(reference.name, options.target)
    if not allowed or not applies(reference, wheels.python_range(options.target)):
        return []
    newest = tuple(map(int, allowed[0].split(".")[:2]))
    return [
        clause
        for clause in clauses(reference)
        if clause.is_upper and not clause.allows(allowed) and (clause.minor or (0, 0)) <= newest
    ]


def is_other_build(clause: Clause, options: Options) -> str:
    """Why the build that a local version names does not serve the target; empty if it does, or names none."""
    return lacks(clause.local, options) if clause.local else ""


def stays(unit: Unit, options: Options) -> bool:
    """Whether a unit installs into what has an older torch on purpose: tests that pin it, or run several."""
    if unit.role is not Role.TEST:
        return False
    torches = unit.environment.of(Sort.REQUIREMENT, *TORCH)
    brought = [
        images.TORCH_TAG.fullmatch(one.text) for one in unit.environment.of(Sort.IMAGE, "pytorch/pytorch")
    ]
    return any(one.undecided or excluding(one, options) for one in torches) or any(
        one and parse(one["torch"]) < options.target for one in brought
    )


def no_build(options: Options) -> str:
    """Why no build of the target can be named."""
    wanted = ", ".join(options.gpu_architectures)
    last = wheels.last_for(options.gpu_architectures)
    older = f"; the last that has is {last.torch} in {last.variant}" if last else ""
    return (
        f"no build of torch {render(options.target)} is known to have code for {wanted}{older}"
        if wanted
        else (f"no CUDA build of torch {render(options.target)} is known")
    )


_LIBRARY = re.compile(r"nvidia-(?P<name>[\w-]+)-cu1[12]")


def is_older_library(reference: Reference, chosen: Build) -> bool:
    """Whether a requirement names a CUDA library of an older major than the chosen build's."""
    match = _LIBRARY.fullmatch(reference.name)
    return bool(match) and not reference.name.endswith(f"-cu{(chosen.cuda or '').split('.')[0]}")


def library_edit(reference: Reference, chosen: Build, target: Version) -> Edit | None:
    """The edit that names the library which the target itself requires, where it is known by the same name."""
    if not chosen.default or not is_older_library(reference, chosen):
        return None
    match = _LIBRARY.fullmatch(reference.name)
    if match is None or reference.fixed or reference.undecided or reference.several:
        return None
    name = f"{match['name']}-cu{(chosen.cuda or '').split('.')[0]}"
    version = wheels.library(target, name)
    if version is None:
        return None
    exact = f"=={version}" if reference.text else ""
    return Edit(reference.span.start, reference.span.end, f"nvidia-{name}{exact}")
