"""The meaning of a single reference for an upgrade: the build that an index has, the conditions that exclude the target."""

from __future__ import annotations

import re
from dataclasses import dataclass

from torchmigrate.documents import base_images
from torchmigrate.documents.reference_patterns import INDEX_URL
from torchmigrate.documents.references import InstallRole, InstallUnit, Reference
from torchmigrate.documents.version_clauses import VersionClause, list_patches, marker_applies, parse_clauses
from torchmigrate.model.findings import Edit
from torchmigrate.model.rule_options import RuleOptions
from torchmigrate.model.torch_versions import Version, parse_version, render_version
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables import build_selection, torch_builds
from torchmigrate.tables.torch_builds import TorchBuild

TORCH_NAMES = ("torch", "pytorch")
COMPANIONS = ("torchvision", "torchaudio")

_TAG = re.compile(r"(?:/whl|/pytorch-wheels)/(?:(?P<channel>test|nightly)/)?(?P<tag>cu\d{2,3})(?=[/\s]|\Z)")
_ROCM = re.compile(r"/whl/(?:test/)?(?P<tag>rocm\d+(?:\.\d+)+)(?=[/\s]|\Z)")
_BACKEND = re.compile(r"cu\d{2,3}")


@dataclass(frozen=True, slots=True)
class VariantTag:
    """The variant that an index has; ``start`` and ``end`` are its offsets in the text of the reference."""

    name: str
    start: int
    end: int


def find_cuda_tag(reference: Reference) -> VariantTag | None:
    """Return the CUDA variant that an index or a wheel's URL names; None for others and for nightly builds."""
    if reference.undecided:
        return None
    if reference.option == "--torch-backend":
        found = _BACKEND.fullmatch(reference.text)
        return VariantTag(found[0], 0, len(found[0])) if found else None
    match = _TAG.search(reference.text)
    if match is None or match["channel"] == "nightly" or not INDEX_URL.fullmatch(reference.text):
        return None
    return VariantTag(match["tag"], *match.span("tag"))


def find_nightly_variant(reference: Reference) -> str | None:
    """Return the CUDA variant of an index of nightly builds; None for others."""
    match = None if reference.undecided else _TAG.search(reference.text)
    return match["tag"] if match is not None and match["channel"] == "nightly" else None


def find_rocm_tag(reference: Reference) -> VariantTag | None:
    """Return the ROCm variant that an index names; None for others and for nightly builds."""
    match = None if reference.undecided else _ROCM.search(reference.text)
    return VariantTag(match["tag"], *match.span("tag")) if match is not None else None


def explain_missing_build(tag: str, options: RuleOptions) -> str:
    """Return why a CUDA or ROCm variant is not available for the target, as a clause; empty if it is, or that is unknown."""
    target = render_version(options.target)
    if build_selection.is_published(options.target, tag) is False:
        reason = f"torch {target} has no {tag} build"
        if (last := build_selection.find_last_release(tag)) and last < options.target:
            reason += f"; the last release with one is {render_version(last)}"
        return reason
    found = build_selection.find_build(options.target, tag)
    if (
        found is not None
        and found.compiled
        and (missing := build_selection.find_missing_architectures(found, options.gpu_architectures))
    ):
        return f"the {tag} build of torch {target} has no kernels for {', '.join(missing)}"
    return ""


def find_excluding_clauses(reference: Reference, options: RuleOptions) -> list[VersionClause]:
    """Return the conditions of a requirement that exclude the target and allow older releases.

    For a companion of torch, the target is the release that goes with the target torch.
    """
    is_torch = reference.name in TORCH_NAMES
    allowed = (
        list_patches(build_selection.find_patch_release(options.target))
        if is_torch
        else list_companion_releases(reference.name, options.target)
    )
    if not allowed or not marker_applies(reference, build_selection.find_python_range(options.target)):
        return []
    newest = tuple(map(int, allowed[0].split(".")[:2]))
    return [
        clause
        for clause in parse_clauses(reference)
        if clause.is_upper and not clause.allows_any(allowed) and (clause.minor_version or (0, 0)) <= newest
    ]


def list_companion_releases(name: str, target: Version) -> list[str]:
    """Return the releases of a companion that fit a torch release; the first is the one to pin."""
    if name == "triton":
        pinned = build_selection.find_library_pin(target, "triton")
        if pinned is None:
            return []
        release = pinned.lstrip("~=")
        return list_patches(release) if pinned.startswith("~=") else [release]
    found = torch_builds.find_companion_release(name, render_version(target))
    return [found, *list_patches(found)] if found else []


def explain_missing_local(clause: VersionClause, options: RuleOptions) -> str:
    """Return why the build of a local version (``+cu128``) is not available for the target; empty if it is, or there is none."""
    return explain_missing_build(clause.local, options) if clause.local else ""


def is_old_on_purpose(unit: InstallUnit, options: RuleOptions) -> bool:
    """Return whether a unit belongs to tests that install an older torch, or several, on purpose."""
    if unit.role is not InstallRole.TEST:
        return False
    torches = unit.environment.find_references(Sort.REQUIREMENT, *TORCH_NAMES)
    tags = (
        base_images.TORCH_TAG.fullmatch(one.text)
        for one in unit.environment.find_references(Sort.IMAGE, "pytorch/pytorch")
    )
    return any(one.undecided or find_excluding_clauses(one, options) for one in torches) or any(
        tag and parse_version(tag["torch"]) < options.target for tag in tags
    )


def explain_no_build(options: RuleOptions) -> str:
    """Return why no build of the target fits the project."""
    target, wanted = render_version(options.target), ", ".join(options.gpu_architectures)
    if not wanted:
        return f"no CUDA build of torch {target} is known"
    last = build_selection.find_last_build(options.gpu_architectures)
    older = f"; the last one that does is torch {last.torch} ({last.variant})" if last else ""
    return f"no known build of torch {target} has kernels for {wanted}{older}"


_LIBRARY = re.compile(r"nvidia-(?P<name>[\w-]+)-cu1[12]")


def is_outdated_library(reference: Reference, chosen: TorchBuild) -> bool:
    """Return whether a requirement is for a library of an older CUDA major than that of the chosen build."""
    is_library = _LIBRARY.fullmatch(reference.name) is not None
    return is_library and not reference.name.endswith(f"-cu{torch_builds.get_major(chosen.cuda)}")


def create_library_edit(reference: Reference, chosen: TorchBuild, target: Version) -> Edit | None:
    """Return the edit that names the CUDA library which the target itself requires; None where no such library is known."""
    match = _LIBRARY.fullmatch(reference.name)
    if match is None or not (chosen.default and is_outdated_library(reference, chosen)):
        return None
    name = f"{match['name']}-cu{torch_builds.get_major(chosen.cuda)}"
    version = build_selection.find_library_pin(target, name)
    if version is None or reference.fixed or reference.undecided or reference.several:
        return None
    exact = f"=={version}" if reference.text else ""
    return Edit(reference.span.start, reference.span.end, f"nvidia-{name}{exact}")
