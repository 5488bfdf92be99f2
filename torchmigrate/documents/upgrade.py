"""What a single reference means for an upgrade: the build that an index has, the conditions that exclude the target."""

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


@dataclass(frozen=True, slots=True)
class Tag:
    """The variant that an index has; ``start`` and ``end`` are its offsets in the text of the reference."""

    name: str
    start: int
    end: int


def tag_of(reference: Reference) -> Tag | None:
    """Return the CUDA variant that an index or a wheel's URL names; None for others and for nightly builds."""
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
    """Return the CUDA variant of an index of nightly builds; None for others."""
    match = None if reference.undecided else _TAG.search(reference.text)
    return match["tag"] if match is not None and match["channel"] == "nightly" else None


def rocm_of(reference: Reference) -> Tag | None:
    """Return the ROCm variant that an index names; None for others and for nightly builds."""
    match = None if reference.undecided else _ROCM.search(reference.text)
    return Tag(match["tag"], *match.span("tag")) if match is not None else None


def lacks(tag: str, options: Options) -> str:
    """Return why a CUDA or ROCm variant is not available for the target, as a clause; empty if it is, or that is unknown."""
    target = render(options.target)
    if wheels.published(options.target, tag) is False:
        last = wheels.last_with(tag)
        since = f"; the last release with one is {render(last)}" if last and last < options.target else ""
        return f"torch {target} has no {tag} build{since}"
    found = wheels.build(options.target, tag)
    if found is not None and found.compiled and (missing := wheels.missing(found, options.gpu_architectures)):
        return f"the {tag} build of torch {target} has no code for {', '.join(missing)}"
    return ""


def excluding(reference: Reference, options: Options) -> list[Clause]:
    """Return the conditions of a requirement that exclude the target and allow older releases.

    For a companion of torch, the target is the release that goes with the target torch.
    """
    is_torch = reference.name in TORCH
    allowed = (
        patches(wheels.release(options.target)) if is_torch else release_of(reference.name, options.target)
    )
    if not allowed or not applies(reference, wheels.python_range(options.target)):
        return []
    newest = tuple(map(int, allowed[0].split(".")[:2]))
    return [
        clause
        for clause in clauses(reference)
        if clause.is_upper and not clause.allows(allowed) and (clause.minor or (0, 0)) <= newest
    ]


def release_of(name: str, target: Version) -> list[str]:
    """Return the releases of a companion that go with a torch; the first is the one to pin."""
    if name == "triton":
        pinned = wheels.library(target, "triton")
        if pinned is None:
            return []
        release = pinned.lstrip("~=")
        return patches(release) if pinned.startswith("~=") else [release]
    found = matrix.companion(name, render(target))
    return [found, *patches(found)] if found else []


def is_other_build(clause: Clause, options: Options) -> str:
    """Return why the build of a local version (``+cu128``) is not available for the target; empty if it is, or there is none."""
    return lacks(clause.local, options) if clause.local else ""


def stays(unit: Unit, options: Options) -> bool:
    """Return whether a unit belongs to tests that install an older torch, or several, on purpose."""
    if unit.role is not Role.TEST:
        return False
    torches = unit.environment.of(Sort.REQUIREMENT, *TORCH)
    tags = (
        images.TORCH_TAG.fullmatch(one.text) for one in unit.environment.of(Sort.IMAGE, "pytorch/pytorch")
    )
    return any(one.undecided or excluding(one, options) for one in torches) or any(
        tag and parse(tag["torch"]) < options.target for tag in tags
    )


def no_build(options: Options) -> str:
    """Return why no build of the target fits the project."""
    target, wanted = render(options.target), ", ".join(options.gpu_architectures)
    if not wanted:
        return f"no CUDA build of torch {target} is known"
    last = wheels.last_for(options.gpu_architectures)
    older = f"; the last one with it is torch {last.torch} ({last.variant})" if last else ""
    return f"no known build of torch {target} has code for {wanted}{older}"


_LIBRARY = re.compile(r"nvidia-(?P<name>[\w-]+)-cu1[12]")


def is_older_library(reference: Reference, chosen: Build) -> bool:
    """Return whether a requirement is for a library of an older CUDA major than that of the chosen build."""
    is_library = _LIBRARY.fullmatch(reference.name) is not None
    return is_library and not reference.name.endswith(f"-cu{matrix.major(chosen.cuda)}")


def library_edit(reference: Reference, chosen: Build, target: Version) -> Edit | None:
    """Return the edit that names the CUDA library which the target itself requires; None where no such library is known."""
    match = _LIBRARY.fullmatch(reference.name)
    if match is None or not (chosen.default and is_older_library(reference, chosen)):
        return None
    name = f"{match['name']}-cu{matrix.major(chosen.cuda)}"
    version = wheels.library(target, name)
    if version is None or reference.fixed or reference.undecided or reference.several:
        return None
    exact = f"=={version}" if reference.text else ""
    return Edit(reference.span.start, reference.span.end, f"nvidia-{name}{exact}")
