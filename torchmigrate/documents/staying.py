"""What would stay behind a move: a torch, a companion or a CUDA that another file of the project names.

A project has one torch, wherever it is installed: a list for a server and one for training, an image, a job on a cluster
that loads a CUDA. A move that leaves one of them behind makes two. So there is none while anything else names what would
be older then; documentation follows, a row of tests for an old version is meant, and a copy
of another project has its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from torchmigrate.documents import images
from torchmigrate.documents.meant import is_vendored
from torchmigrate.documents.references import Environment, Reference, Role
from torchmigrate.documents.said import Saying, sayings, shown
from torchmigrate.documents.upgrade import TORCH, excluding, lacks, left_behind, tag_of
from torchmigrate.model.findings import NoFix
from torchmigrate.model.options import Options
from torchmigrate.model.versions import parse
from torchmigrate.model.vocabulary import Sort
from torchmigrate.project.project import Project
from torchmigrate.tables.matrix import Build, major, number
from torchmigrate.text.source import Source

_MINIMUM = re.compile(r"(?i)(?<![a-z])(?:min|minimum|minimal|oldest|lowest|legacy)(?![a-z])")
"""How files and jobs are named that test the oldest versions."""

Place = tuple[str, tuple[int, ...]]
"""An environment, by its file and where it begins there."""

Moves = Callable[[Reference, Source], bool]
"""Whether the environment of a reference moves by itself, or with the files beside it."""


@dataclass(frozen=True, slots=True)
class _Stay:
    saying: Saying
    place: Place | None
    cuda: str
    """The CUDA that it names; empty for what is of another torch."""


def check_staying(
    moved: Iterable[tuple[str, Environment]],
    cuda: str,
    chosen: Build,
    options: Options,
    project: Project,
    moves: Moves,
) -> None:
    """Raises NoFix for the first thing that would stay. ``cuda`` is that of what is installed now."""
    places = {place_of(path, environment) for path, environment in moved}
    paths = {path for path, _ in places}
    keeps_major = major(cuda) == major(chosen.cuda)
    stays = project.once(("stays", options), lambda: _stays(options, project, moves))
    for one in stays:
        if one.place in places or (one.saying.reference is None and one.saying.path in paths):
            continue
        if not one.cuda:
            raise NoFix(f"{shown(one.saying, project)} would have to move with it")
        if not keeps_major and number(one.cuda)[0] < number(chosen.cuda or "")[0]:
            raise NoFix(
                f"{shown(one.saying, project)} is for CUDA {major(one.cuda)}, and this would be CUDA {chosen.cuda}"
            )


def place_of(path: str, environment: Environment) -> Place:
    """The same for an environment however often its file is read."""
    return path, tuple(span.start for span in environment.spans)


def _stays(options: Options, project: Project, moves: Moves) -> list[_Stay]:
    """What is older than the target in the project, and does not move."""
    every = [one for one in sayings(project) if not _is_meant(one) and not is_vendored(one.path, project)]
    old = [one for one in every if _is_old(one, options)]
    moving: dict[Place, bool] = {}
    for one in old:
        if one.reference and one.source and one.environment:
            place = place_of(one.path, one.environment)
            if place not in moving:
                moving[place] = moves(one.reference, one.source)
    found = []
    for one in every:
        at = place_of(one.path, one.environment) if one.environment else None
        if at is not None and moving.get(at):
            continue
        if _is_old(one, options):
            found.append(_Stay(one, at, ""))
        elif one.cuda:
            found.append(_Stay(one, at, one.cuda))
    return found


def _is_old(saying: Saying, options: Options) -> bool:
    """Whether it names a torch that is older than the target, or a build that the target does not have."""
    reference = saying.reference
    if reference is None:
        return bool(saying.torch) and parse(saying.torch) < options.target
    if reference.sort is Sort.REQUIREMENT:
        return bool((excluding if reference.name in TORCH else left_behind)(reference, options))
    if reference.sort is Sort.INDEX:
        tag = tag_of(reference)
        asks = reference.unit.of(Sort.REQUIREMENT, *TORCH)
        return bool(tag and asks and lacks(tag.name, options))
    if reference.sort is Sort.IMAGE and reference.name == "pytorch/pytorch":
        found = images.TORCH_TAG.fullmatch(reference.text)
        return found is not None and parse(found["torch"]) < options.target
    return reference.name == "nvidia/pytorch"


def _is_meant(saying: Saying) -> bool:
    """Whether it is a row of tests that is for an old version."""
    if _MINIMUM.search(re.sub(r"[-_./\d]+", " ", "/".join(saying.path.split("/")[-2:]))):
        return True
    if saying.reference is None or saying.source is None or saying.environment is None:
        return False
    if saying.reference.unit.role is not Role.TEST:
        return False
    if saying.reference.several:
        return True
    return _MINIMUM.search(saying.environment.text(saying.source.original.decode("latin-1"))) is not None
