"""Blockers in an environment: the requirements, Pythons, images and commands that may not fit the new torch.

Everything that is pinned, bounded or built for one torch has to be known to work with the new one. What is unknown
is a blocker too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from torchmigrate.documents import base_images, version_mentions
from torchmigrate.documents.build_choice import requires_only_cpu
from torchmigrate.documents.python_versions import find_possible_minors, parse_minors
from torchmigrate.documents.references import (
    Environment,
    Reference,
    VersionStyle,
    find_references_in,
    normalize_name,
)
from torchmigrate.documents.related_files import RelatedEnvironment
from torchmigrate.documents.version_clauses import VersionClause, marker_applies, parse_clauses
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables import package_conflicts, package_requirements
from torchmigrate.tables.package_requirements import explain_refusal, find_newest, is_built_for_one_torch
from torchmigrate.tables.torch_builds import TorchBuild, get_major, parse_number

FAMILY = package_requirements.FAMILY | {"pytorch"}


@dataclass(frozen=True, slots=True)
class ProposedState:
    """An environment as it would be after the edits, with the related environments of other files."""

    environment: Environment
    text: str
    """The text of the environment after the edits."""
    neighbours: tuple[RelatedEnvironment, ...]
    chosen: TorchBuild
    releases: dict[str, str]
    """Package of the torch family → the release that would be installed."""
    replaced: frozenset[str]
    """The libraries whose requirements follow the new build."""
    resolves: bool = False
    """Whether packages that the tables lack are left to a resolver, unless they are built for one torch."""

    @property
    def cuda_major(self) -> str:
        """The CUDA major of the build."""
        return get_major(self.chosen.cuda)

    @property
    def all_environments(self) -> list[Environment]:
        """The environment and the related ones."""
        return [self.environment, *(neighbour.environment for neighbour in self.neighbours)]


def find_blocker(state: ProposedState) -> str:
    """Return the first blocker, as a reason for no fix; empty if there is none."""
    for check in (
        _find_unread_commands,
        _find_contradicted_pins,
        _find_missing_wheels,
        _find_refusing_packages,
        _find_pins_on_image,
        _find_related_blockers,
        _find_python_blockers,
        _find_leftovers,
    ):
        for found in check(state):
            return found
    return ""


def _find_unread_commands(state: ProposedState) -> Iterator[str]:
    if state.environment.unread:
        yield f"the command around `{state.environment.unread.strip()}` could not be parsed"


def _find_requirements(state: ProposedState) -> Iterator[tuple[Reference, str]]:
    """Yield all requirements, with `` (file name)`` for those of other files."""
    yield from ((one, "") for one in state.environment.find_references(Sort.REQUIREMENT))
    for neighbour in state.neighbours:
        for one in neighbour.references:
            if one.sort is Sort.REQUIREMENT:
                yield one, f" ({neighbour.path.rpartition('/')[2]})"


def _find_refusing_packages(state: ProposedState) -> Iterator[str]:
    """Yield the packages that do not support the new torch, or may not."""
    for one, where in _find_requirements(state):
        if one.name in FAMILY | state.replaced or not marker_applies(one, state.chosen.python):
            continue
        if reason := _explain_refusal(one, state):
            yield f"blocked by `{one.name}{'' if one.undecided else one.text}`{where}: {reason}"


def _find_pins_on_image(state: ProposedState) -> Iterator[str]:
    """Yield the pins on top of an image with torch: the new image has another Python and another numpy."""
    brought = find_references_in(state.all_environments, Sort.IMAGE, "pytorch/pytorch")
    found = [base_images.TORCH_TAG.fullmatch(one.text) for one in brought]
    if not any(
        match and parse_number(match["torch"])[:2] < parse_number(state.chosen.torch) for match in found
    ):
        return
    for one, where in _find_requirements(state):
        if one.name in FAMILY | state.replaced | _PYTHON_BOUND_ONLY:
            continue
        if any(clause.is_upper for clause in parse_clauses(one)):
            yield (
                f"blocked by `{one.name}{one.text}`{where}: it is unclear whether it works with the Python"
                f" {base_images.find_image_python(state.chosen) or ''} and the numpy of the new image"
            )


_PYTHON_BOUND_ONLY = {"numpy", "pip", "setuptools", "wheel"}
"""Packages whose wheel for a Python is enough to run on it, with the numpy that is pinned."""


def _explain_refusal(one: Reference, state: ProposedState) -> str:
    """Return why a package does not support the new torch, or may not; empty if it does."""
    if library := re.fullmatch(r"nvidia-[\w-]+-cu(\d\d)", one.name):
        if library[1] != state.cuda_major:
            return f"it is a library for CUDA {library[1]}"
        pinned = any(clause.is_upper for clause in parse_clauses(one)) and not state.chosen.default
        build = f"torch {state.chosen.version} ({state.chosen.variant})"
        return f"it is unclear which release {build} requires" if pinned else ""
    if one.undecided:
        return f"its version depends on `{one.undecided}`"
    if local := next((clause.local for clause in parse_clauses(one) if clause.local), ""):
        return f"it is a custom build (`+{local}`)"
    if one.style is VersionStyle.CONDA:
        return _explain_conda_refusal(one, state)
    upper = [clause for clause in parse_clauses(one) if clause.is_upper]
    return _explain_release_refusal(one.name, upper, state)


def _explain_release_refusal(name: str, upper: list[VersionClause], state: ProposedState) -> str:
    """Return why the newest release within some upper bounds does not support the new torch, or may not."""
    torch = state.releases["torch"]
    wanted = _find_newest_allowed(name, upper) if upper else ""
    before = any(clause.operator == "<" and clause.public_version == wanted for clause in upper)
    if reason := package_conflicts.explain_failure(name, wanted, torch, before=before):
        return reason
    reason = package_conflicts.explain_cuda_conflict(name, wanted, state.chosen.cuda or "", before=before)
    if reason and not requires_only_cpu(state.all_environments):
        return reason
    is_free = state.resolves or not (upper or _GPU_PACKAGE.search(name))
    if is_free and not (
        is_built_for_one_torch(name) or package_requirements.has_known_requirements(name, wanted)
    ):
        return ""  # without a bound, an installer takes a release that fits
    if upper:
        return explain_refusal(name, wanted, torch)
    newest = find_newest(name)
    if newest is None and is_built_for_one_torch(name):
        return "it is compiled against one torch, and it is unclear for which versions there are builds"
    reason = explain_refusal(name, newest or "", torch)
    return f"{reason} (newest release: {newest})" if reason and newest else reason


_GPU_PACKAGE = re.compile(r"torch|cuda|cu1\d|gpu|triton|flash|attn|nvidia")
"""Words in the names of packages that may be built for one torch or one CUDA."""


def _find_newest_allowed(name: str, upper: list[VersionClause]) -> str:
    """Return the newest release that upper bounds allow."""
    lowest = min(upper, key=lambda clause: parse_number(clause.public_version))
    bound = lowest.public_version.removesuffix(".*")
    newest = find_newest(name)
    exact = any(clause.operator in ("==", "===") for clause in upper)
    return newest if newest and not exact and parse_number(newest) < parse_number(bound) else bound


def _explain_conda_refusal(one: Reference, state: ProposedState) -> str:
    """Return why a conda package does not support the new torch, or may not; empty if it does."""
    if one.name in ("pytorch", "pytorch-cuda", "cudatoolkit", "cuda") or one.name.startswith("cuda-"):
        asked = re.search(r"\d+", one.text)
        return f"it selects CUDA {asked[0]}" if asked and asked[0] != state.cuda_major else ""
    return "it is unclear which torch conda's builds support" if is_built_for_one_torch(one.name) else ""


def _find_contradicted_pins(state: ProposedState) -> Iterator[str]:
    """Yield the pins that contradict the requirements of the new releases."""
    # conda's packages have versions and dependencies of their own.
    every = _find_requirements(state)
    pinned = {one.name: (one, where) for one, where in every if one.style is not VersionStyle.CONDA}
    for name, release in state.releases.items():
        for needed in package_requirements.find_requirements(name, release):
            key = normalize_name(needed.name)
            if key not in pinned or key in FAMILY | state.replaced:
                continue
            one, where = pinned[key]
            for clause in parse_clauses(one):
                if clause.is_upper and not any(
                    needed.specifier.contains(version, prereleases=True)
                    for version in _list_allowed_versions(clause)
                ):
                    yield f"blocked by `{one.name}{one.text}`{where}: {name} {release} requires {needed}"


def _list_allowed_versions(clause: VersionClause) -> list[str]:
    """Return typical versions among those that an upper bound allows."""
    public = clause.public_version.removesuffix(".*")
    if clause.operator in ("==", "===", "=", ""):
        return [public, f"{public}.99"] if clause.public_version.endswith(".*") else [public]
    if clause.operator == "<":
        numbers = [*parse_number(public)]
        while numbers and numbers[-1] == 0:
            numbers.pop()
        return [".".join(map(str, [*numbers[:-1], numbers[-1] - 1, 999]))] if numbers else []
    return [public, ".".join([*public.split(".")[:-1], "999"])] if clause.operator == "~=" else [public]


def _find_related_blockers(state: ProposedState) -> Iterator[str]:
    """Yield the requirements in related files that exclude the new releases; related files do not change, or have changed already."""
    for neighbour in state.neighbours:
        where = neighbour.path.rpartition("/")[2]
        if neighbour.environment.unread:
            yield f"`{neighbour.environment.unread.strip()}` in {where} could not be parsed"
        if neighbour.environment.blocker:
            yield f"{neighbour.environment.blocker} ({where})"
        for one in neighbour.references:
            name = "torch" if one.name == "pytorch" else one.name
            if one.sort is Sort.REQUIREMENT and name in state.releases:
                kept = [
                    c for c in parse_clauses(one) if c.is_upper and not c.allows_any([state.releases[name]])
                ]
                if kept or one.undecided:
                    yield f"`{one.name}{one.text}` in {where} would have to change too"
            if one.sort is Sort.IMAGE and one.name in ("pytorch/pytorch", "nvidia/pytorch"):
                if one.text.startswith(f"{state.chosen.version}-"):
                    continue
                yield f"the image {one.name}:{one.text} in {where} has its own torch"


def _find_possible_pythons(state: ProposedState) -> tuple[set[int], str]:
    """Return the minor versions of Python that the environment may have, or none and the text that excludes them."""
    has_image = bool(find_references_in(state.all_environments, Sort.IMAGE, "pytorch/pytorch"))
    brought = base_images.find_image_python(state.chosen) if has_image else None
    known = (brought, brought) if brought else state.chosen.python
    return find_possible_minors(find_references_in(state.all_environments, Sort.PYTHON), known)


def find_oldest_python(state: ProposedState) -> str:
    """Return the oldest Python that the environment may have."""
    left, _ = _find_possible_pythons(state)
    return f"3.{min(left)}" if left else state.chosen.python[0]


def _find_python_blockers(state: ProposedState) -> Iterator[str]:
    """Yield a reason if the Python has no wheels of the new torch, or is unknown."""
    has = f"torch {state.chosen.version} has wheels for Python {' to '.join(state.chosen.python)}"
    left, asked = _find_possible_pythons(state)
    if not left:
        yield f"{has}, but `{asked}` is required"
    if any(one.of_image and not _has_known_python(one) for one in state.all_environments):
        yield f"{has}, and the Python version here is unknown"


def _has_known_python(environment: Environment) -> bool:
    """Return whether an image, or a command in it, determines the Python."""
    brought = environment.find_references(Sort.IMAGE, "pytorch/pytorch")
    return bool(brought) or any(parse_minors(one) for one in environment.find_references(Sort.PYTHON))


def _find_missing_wheels(state: ProposedState) -> Iterator[str]:
    """Yield the first pin that leaves no Python for which all pins have a wheel."""
    left, _ = _find_possible_pythons(state)
    if len(left) > 1:  # a single Python has wheels of all pins today
        left = {n for n in left if package_requirements.has_wheel_data(f"3.{n}")}
    for one, where in _find_requirements(state) if left else ():
        upper = [clause for clause in parse_clauses(one) if clause.is_upper]
        if one.name in FAMILY | state.replaced or not upper or one.style is VersionStyle.CONDA:
            continue
        versions = [
            max(_list_allowed_versions(clause), key=parse_number, default=clause.public_version)
            for clause in upper
        ]
        version = min(versions, key=parse_number)
        fitting = {
            n for n in left if package_requirements.has_wheel(one.name, version, f"3.{n}") is not False
        }
        if not fitting:
            range_ = f"3.{min(left)} to 3.{max(left)}"
            yield f"blocked by `{one.name}{one.text}`{where}: it has no wheel for Python {range_}"
            return
        left = fitting


_SOURCE_BUILD = re.compile(
    r"(?:git\+|git clone\s+(?:-\S+\s+(?:[\w.-]+\s+)??)*)\S*?/(?P<name>[\w.-]+?)(?:\.git)?(?=[@#\s\"'&;]|$)"
)
_BUILT_FILE = re.compile(r"[^\s\"'=]+\.whl\b|setup\.py\s+(?:install|develop|bdist_wheel)")
_REPOSITORIES = {
    "flash-attention": "flash-attn",
    "vision": "torchvision",
    "audio": "torchaudio",
    "ao": "torchao",
}


def _find_leftovers(state: ProposedState) -> Iterator[str]:
    """Yield the parts of the text that are for another CUDA or an older torch, and packages built from source."""
    neighbours = "\n".join(neighbour.text for neighbour in state.neighbours)
    for text, own in ((state.text, True), (neighbours, False)):
        text = version_mentions.blank_comments(text)
        for match in version_mentions.find_named_versions(text):
            found = match.groupdict()
            if state.chosen.cuda and found.get("major", state.cuda_major) != state.cuda_major:
                yield f"blocked by `{version_mentions.find_word(text, match)}`, which is for CUDA {found['major']}"
            if "version" in found and parse_number(found["version"]) < parse_number(state.chosen.torch):
                yield f"blocked by `{version_mentions.find_word(text, match)}`, which is for torch {found['version']}"
        for match in _SOURCE_BUILD.finditer(text):
            name = normalize_name(match["name"])
            name = _REPOSITORIES.get(name, name)
            if own and explain_refusal(name, find_newest(name) or "0", state.releases["torch"]):
                yield f"blocked by `{match['name']}`: it is built from source, and it is unclear which torch it supports"
        for match in _BUILT_FILE.finditer(text):
            yield f"blocked by `{match[0]}`: it is unclear which torch it was built for"
