"""Blockers in an environment: the requirements, Pythons, images and commands that may not fit the new torch.

Everything that is pinned, bounded or built for one torch has to be known to work with the new one. What is unknown
is a blocker too, unless the user allows it; the blocker says which release of a requirement would fit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace

from torchmigrate.documents import (
    base_images,
    conda_builds,
    leftovers,
    package_fit,
    version_mentions,
)
from torchmigrate.documents.blocker import Blocker
from torchmigrate.documents.package_fit import FAMILY
from torchmigrate.documents.proposed_state import ProposedState
from torchmigrate.documents.python_versions import (
    choose_minor,
    find_possible_minors,
    parse_minors,
    raise_python,
)
from torchmigrate.documents.references import (
    Environment,
    Reference,
    VersionStyle,
    find_references_in,
    normalize_name,
)
from torchmigrate.documents.version_clauses import (
    find_lower_bound,
    list_allowed_versions,
    marker_applies,
    parse_clauses,
)
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables import package_requirements, page_wheels
from torchmigrate.tables.torch_builds import parse_number


def find_blockers(state: ProposedState) -> list[Blocker]:
    """Return all blockers: first what depends on torch; at most one for each requirement."""
    found: dict[object, Blocker] = {}
    for check in (
        _find_unread_commands,
        _find_contradicted_pins,
        _find_missing_wheels,
        _find_refusing_packages,
        _find_pins_on_image,
        _find_related_blockers,
        _find_python_blockers,
        conda_builds.find_unbuilt_pins,
        conda_builds.find_other_builds,
        _find_leftovers,
    ):
        for one in check(state):
            key = id(one.requirement) if one.requirement else one.reason
            known = found.setdefault(key, one)
            if known is not one:
                found[key] = _join_blockers(known, one)
    return sorted(found.values(), key=lambda one: (not one.needs_torch, one.requirement is None))


def _join_blockers(one: Blocker, other: Blocker) -> Blocker:
    """Return one blocker for two reasons against a requirement: a release has to fit both."""
    if one.release is None or other.release is None:
        return one if one.release is None else other
    newer = max(one, other, key=lambda blocker: parse_number(blocker.release or ""))
    return replace(newer, needs_torch=one.needs_torch or other.needs_torch, check=one.check or other.check)


def _find_unread_commands(state: ProposedState) -> Iterator[Blocker]:
    if state.environment.unread:
        yield Blocker(f"the command around `{state.environment.unread.strip()}` could not be parsed")


def _blame(one: Reference, reason: str, state: ProposedState) -> Blocker:
    """Return the blocker for a requirement: its reason, and the release that would fit."""
    where = _name_file(one, state)
    shown = one.shown_name if one.undecided else one.shown
    fitting = package_fit.find_fitting(one, state.question)
    latest = package_fit.explain_no_release(one.name, state.question) if fitting.release is None else ""
    more = f", and no release is known to fit: {latest}" if latest and latest not in reason else ""
    return Blocker(
        f"blocked by `{shown}`{where}: {reason}{more}",
        one,
        fitting.release,
        fitting.check,
        package_fit.depends_on_torch(one.name),
    )


def _name_file(one: Reference, state: ProposedState) -> str:
    """Return the name of the related file that has a reference, in brackets; empty for the file of the environment itself."""
    path = state.find_path(one)
    return f" ({path.rpartition('/')[2]})" if path else ""


def _find_refusing_packages(state: ProposedState) -> Iterator[Blocker]:
    """Yield the packages that do not support the new torch, or may not."""
    for one in state.requirements:
        if one.name in FAMILY | state.replaced or not marker_applies(one, state.chosen.python):
            continue
        if reason := package_fit.explain_refusal(one, state.question):
            yield _blame(one, reason, state)


def _find_pins_on_image(state: ProposedState) -> Iterator[Blocker]:
    """Yield the pins on top of an image with torch: the new image has another Python and another numpy."""
    brought = find_references_in(state.all_environments, Sort.IMAGE, "pytorch/pytorch")
    found = [base_images.TORCH_TAG.fullmatch(one.text) for one in brought]
    if state.resolves or not any(
        match and parse_number(match["torch"])[:2] < parse_number(state.chosen.torch) for match in found
    ):
        return
    python = base_images.find_image_python(state.chosen)
    for one in state.requirements:
        upper = [clause for clause in parse_clauses(one) if clause.is_upper]
        if one.name in FAMILY | state.replaced | _PYTHON_BOUND_ONLY or not upper:
            continue
        version = package_fit.find_newest_allowed(one.name, upper)
        if package_requirements.has_wheel(one.name, version, python):
            continue
        reason = f"it is unclear whether it works with the Python {python} and the numpy of the new image"
        yield _blame(one, reason, state)


_PYTHON_BOUND_ONLY = {"numpy", "pip", "setuptools", "wheel"}
"""Packages whose wheel for a Python is enough to run on it, with the numpy that is pinned."""


def _find_contradicted_pins(state: ProposedState) -> Iterator[Blocker]:
    """Yield the pins that contradict the requirements of the new releases."""
    # conda's packages have versions and dependencies of their own.
    pinned = {one.name: one for one in state.requirements if one.style is not VersionStyle.CONDA}
    for name, release in state.releases.items():
        for needed in package_requirements.find_requirements(name, release):
            key = normalize_name(needed.name)
            if key not in pinned or key in FAMILY | state.replaced:
                continue
            one = pinned[key]
            for clause in parse_clauses(one):
                if clause.is_upper and not any(
                    needed.specifier.contains(version, prereleases=True)
                    for version in list_allowed_versions(clause)
                ):
                    blocker = _blame(one, f"{name} {release} requires {needed}", state)
                    # The oldest release changes the least: setuptools 82 has no pkg_resources.
                    oldest = find_lower_bound(needed.specifier)
                    is_newer = parse_number(oldest) > parse_number(clause.public_version)
                    yield replace(blocker, release=oldest) if blocker.release and is_newer else blocker


def _find_related_blockers(state: ProposedState) -> Iterator[Blocker]:
    """Yield the requirements in related files that exclude the new releases; related files do not change, or have changed already."""
    for neighbour in state.neighbours:
        where = neighbour.path.rpartition("/")[2]
        if neighbour.environment.unread:
            yield Blocker(f"`{neighbour.environment.unread.strip()}` in {where} could not be parsed")
        if neighbour.environment.blocker:
            yield Blocker(f"{neighbour.environment.blocker} ({where})")
        for one in neighbour.references if state.is_whole else ():
            name = "torch" if one.name == "pytorch" else one.name
            if one.sort is Sort.REQUIREMENT and name in state.releases:
                kept = [
                    c for c in parse_clauses(one) if c.is_upper and not c.allows_any([state.releases[name]])
                ]
                if kept or one.undecided:
                    yield Blocker(f"`{one.shown}` in {where} would have to change too")
            if one.sort is Sort.IMAGE and one.name in ("pytorch/pytorch", "nvidia/pytorch"):
                if one.text.startswith(f"{state.chosen.version}-"):
                    continue
                yield Blocker(f"the image {one.name}:{one.text} in {where} has its own torch")


def _find_python_blockers(state: ProposedState) -> Iterator[Blocker]:
    """Yield the Pythons that have no wheels of the new torch, and a reason if the Python is unknown."""
    has = f"torch {state.chosen.version} has wheels for Python {' to '.join(state.chosen.python)}"
    if state.python_range != state.chosen.python:
        has = f"the image with torch {state.chosen.version} has Python {state.python_range[0]}"
    minor, excluding = state.choose_python()
    immovable = {one.text for one in excluding if one.fixed}
    for one in excluding:
        if one.text in immovable and not one.fixed:
            continue  # a command that runs the same Python
        release = f"3.{minor}" if raise_python(one, minor) else None
        reason = f", and {one.fixed}" if one.fixed else ""
        yield Blocker(f"{has}, but `{one.text}`{_name_file(one, state)} is required{reason}", one, release)
    # conda brings its own Python into an image.
    by_conda = any(one.option == "conda" for one in state.stated_pythons)
    if not by_conda and any(one.of_image and not _has_known_python(one) for one in state.all_environments):
        wanted = " to ".join(state.chosen.python)
        yield Blocker(
            f"{has}, and the Python version here is unknown", check=f"the image has a Python from {wanted}"
        )


def _has_known_python(environment: Environment) -> bool:
    """Return whether an image, or a command in it, determines the Python."""
    brought = environment.find_references(Sort.IMAGE, "pytorch/pytorch")
    return bool(brought) or any(parse_minors(one) for one in environment.find_references(Sort.PYTHON))


def _find_missing_wheels(state: ProposedState) -> Iterator[Blocker]:
    """Yield the pins that leave no Python for which all pins have a wheel."""
    minor, excluding = choose_minor(state.stated_pythons, state.python_range)
    left = {minor} if excluding else find_possible_minors(state.stated_pythons, state.python_range)
    if len(left) > 1:  # a single Python has wheels of all pins today
        left = {n for n in left if package_requirements.has_wheel_data(f"3.{n}")}
    for one in () if state.resolves else state.requirements:
        upper = [clause for clause in parse_clauses(one) if clause.is_upper]
        if one.name in FAMILY | state.replaced or not upper or one.style is VersionStyle.CONDA:
            continue
        versions = [
            max(list_allowed_versions(clause), key=parse_number, default=clause.public_version)
            for clause in upper
        ]
        version = min(versions, key=parse_number)
        fitting = {
            n for n in left if package_requirements.has_wheel(one.name, version, f"3.{n}") is not False
        }
        if fitting:
            left = fitting
            continue
        span = f"3.{min(left)} to 3.{max(left)}" if len(left) > 1 else f"3.{min(left)}"
        blocker = _blame(one, f"it has no wheel for Python {span}", state)
        first = package_requirements.find_first_wheel(one.name, f"3.{min(left)}")
        # The nearest release with a wheel is enough, unless something else asks for more.
        yield replace(blocker, release=first) if first and blocker.release else blocker


def _is_source_of(found: str, name: str) -> bool:
    """Return whether a leftover is a requirement, or the page of wheels that it is installed from."""
    if re.search(r"\b(?:pyg|dgl)\.\w+/", found):
        return page_wheels.is_on_pages(name)
    # A page of builds of any other package has those for today's torch only: detectron2/wheels/cu101/torch1.8/index.html.
    return name in found and name not in FAMILY and not re.match(r"`\S+(?:\.html?|/)`", found)


def _find_leftovers(state: ProposedState) -> Iterator[Blocker]:
    """Yield the parts of the text that are for another CUDA or an older torch, and packages built from source."""
    neighbours = "\n".join(neighbour.text for neighbour in state.neighbours)
    for text, own in ((state.text, True), (neighbours, False)):
        text = version_mentions.blank_comments(text)
        versions = list(leftovers.find_leftover_versions(text, state.chosen)) if state.is_whole else []
        for found in versions:
            # Requirements are judged by themselves, and a page by what is required from it.
            if not any(_is_source_of(found, one.name) for one in state.requirements):
                yield Blocker(f"blocked by {found}")
        for name in leftovers.find_source_builds(text, state.releases["torch"]) if own else ():
            yield Blocker(
                f"blocked by `{name}`: it is built from source, and it is unclear which torch it supports",
                check=f"{name}: it is built from source; build it after the move",
            )
        for file in leftovers.find_built_files(text):
            if file.startswith("setup.py"):
                reason = (
                    f"blocked by `{file}`: it is built from source, and it is unclear which torch it supports"
                )
                yield Blocker(reason, check=f"{file}: it is built from source; build it after the move")
            elif not any(os.path.basename(file) in found for found in versions):
                yield Blocker(f"blocked by `{file}`: it is unclear which torch it was built for")
