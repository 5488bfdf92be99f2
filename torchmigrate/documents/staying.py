"""Blockers elsewhere in the project: a torch, a companion, a CUDA or a call that does not fit once an environment moves.

A project has one torch, wherever it is installed: a list for a server and one for training, an image, a job on a cluster
that loads a CUDA. A move that leaves one of them behind makes two. So there is none while any other file names what
would be older then. Documentation follows the project's own files, tests for an old version are intended, and a copy of
another project has its own torch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from torchmigrate.documents import images
from torchmigrate.documents.meant import is_vendored
from torchmigrate.documents.references import Environment, Reference, Role, references_in
from torchmigrate.documents.said import Saying, sayings, shown
from torchmigrate.documents.specifiers import clauses
from torchmigrate.documents.upgrade import TORCH, excluding, lacks, tag_of
from torchmigrate.model.findings import NoFix
from torchmigrate.model.options import Options
from torchmigrate.model.versions import Version, parse
from torchmigrate.model.vocabulary import Sort
from torchmigrate.project.project import Project
from torchmigrate.tables.matrix import Build, major, number
from torchmigrate.text.source import Source

_MINIMUM = re.compile(r"(?i)(?<![a-z])(?:min|minimum|minimal|oldest|lowest|legacy)(?![a-z])")
"""Words in the names of files and jobs that test the oldest versions."""

Place = tuple[str, tuple[int, ...]]
"""An environment, as its file and the offsets where its parts begin."""

Moves = Callable[[Reference, Source], bool]
"""A predicate: whether the environment of a reference can move, by itself or with related files."""


@dataclass(frozen=True, slots=True)
class _Stay:
    """A place in the project that would not move."""

    saying: Saying
    place: Place | None
    cuda: str
    """The CUDA version there; empty if the place names an older torch."""


def check_staying(
    moved: Iterable[tuple[str, Environment]],
    cuda: str,
    chosen: Build,
    options: Options,
    project: Project,
    moves: Moves,
) -> None:
    """Raise NoFix for the first place that would not fit. ``cuda`` is the CUDA version that is installed now."""
    places = {_place_of(path, environment) for path, environment in moved}
    paths = {path for path, _ in places}
    keeps_major = major(cuda) == major(chosen.cuda)
    stays = project.once(("stays", options), lambda: _stays(options, project, moves))
    for one in stays:
        if one.place in places or (one.saying.reference is None and one.saying.path in paths):
            continue
        if not one.cuda:
            raise NoFix(f"{shown(one.saying, project)} would have to change too")
        if not keeps_major and number(one.cuda)[0] < number(chosen.cuda or "")[0]:
            raise NoFix(
                f"{shown(one.saying, project)} is for CUDA {major(one.cuda)}, and this would be CUDA {chosen.cuda}"
            )


def _place_of(path: str, environment: Environment) -> Place:
    """Return a key of an environment that stays the same when its file is read again."""
    return path, tuple(span.start for span in environment.spans)


def _stays(options: Options, project: Project, moves: Moves) -> list[_Stay]:
    """Return the places that name a CUDA, or a torch that is older than the target, and do not move."""
    every = [one for one in sayings(project) if not _is_meant(one) and not is_vendored(one.path, project)]
    moving: dict[Place, bool] = {}
    # What moves by itself is no blocker, even if its own fix has not been applied yet.
    for one in every:
        if one.reference and one.source and one.environment and _is_old(one, options):
            place = _place_of(one.path, one.environment)
            if place not in moving:
                moving[place] = moves(one.reference, one.source)
    found = []
    for one in every:
        at = _place_of(one.path, one.environment) if one.environment else None
        is_old = _is_old(one, options)
        if (at is None or not moving.get(at)) and (is_old or one.cuda):
            found.append(_Stay(one, at, "" if is_old else one.cuda))
    return found


def _is_old(saying: Saying, options: Options) -> bool:
    """Return whether a place names a torch older than the target, or a build that the target lacks."""
    reference = saying.reference
    if reference is None:
        return bool(saying.torch) and parse(saying.torch) < options.target
    if reference.sort is Sort.REQUIREMENT:
        return bool(excluding(reference, options))
    if reference.sort is Sort.INDEX:
        tag = tag_of(reference)
        asks = reference.unit.of(Sort.REQUIREMENT, *TORCH)
        return bool(tag and asks and lacks(tag.name, options))
    if reference.sort is Sort.IMAGE and reference.name == "pytorch/pytorch":
        found = images.TORCH_TAG.fullmatch(reference.text)
        return found is not None and parse(found["torch"]) < options.target
    return reference.name == "nvidia/pytorch"


def _is_meant(saying: Saying) -> bool:
    """Return whether a place belongs to tests of an old version."""
    if _MINIMUM.search(re.sub(r"[-_./\d]+", " ", "/".join(saying.path.split("/")[-2:]))):
        return True
    if saying.reference is None or saying.source is None or saying.environment is None:
        return False
    if saying.reference.unit.role is not Role.TEST:
        return False
    if saying.reference.several:
        return True
    return _MINIMUM.search(saying.environment.text(saying.source.original.decode("latin-1"))) is not None


_TORCHCODEC_SINCE: Version = (2, 9)
"""The first torchaudio whose `load` and `save` need torchcodec: https://github.com/pytorch/audio/pull/4039."""
_AUDIO_CALL = r"\btorchaudio\.(?:load|save)\(|\bfrom torchaudio import[^\n]*\b(?:load|save)\b"


def check_audio(environments: Sequence[Environment], target: Version, project: Project) -> None:
    """Raise NoFix where a move makes torchcodec necessary for a call in the project, and nothing requires it."""
    asked = {one.name for one in references_in(environments, Sort.REQUIREMENT, "torchaudio", "torchcodec")}
    torches = references_in(environments, Sort.REQUIREMENT, *TORCH)
    older = any(
        (clause.minor or _TORCHCODEC_SINCE) < _TORCHCODEC_SINCE
        for one in torches
        for clause in clauses(one)
        if clause.is_upper
    )
    if asked != {"torchaudio"} or target < _TORCHCODEC_SINCE or not older:
        return
    looked_at = project.spelling((("torchaudio",), (_AUDIO_CALL,)), beside="")
    elsewhere = ((path, line) for path, line, _ in project.elsewhere({" .py .ipynb ": _AUDIO_CALL}))
    for path, line in (*looked_at, *elsewhere):
        if path.endswith((".py", ".ipynb")):
            raise NoFix(
                f"{project.shown(path)}:{line} needs torchcodec since torchaudio 2.9, and nothing here requires it"
            )
