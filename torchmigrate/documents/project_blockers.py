"""Blockers elsewhere in the project: a torch, a companion, a CUDA or a call that does not fit once an environment moves.

A project has one torch, wherever it is installed: a list for a server and one for training, an image, a job on a cluster
that loads a CUDA. A move that leaves one of them behind makes two. So there is none while any other file names what
would be older then. Documentation follows the project's own files, tests for an old version are intended, and a copy of
another project has its own torch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from torchmigrate.documents import base_images
from torchmigrate.documents.copied_projects import is_vendored
from torchmigrate.documents.references import (
    Environment,
    InstallRole,
    Reference,
    VersionStyle,
    find_references_in,
)
from torchmigrate.documents.upgrade_rules import (
    TORCH_NAMES,
    explain_missing_build,
    find_cuda_tag,
    find_excluding_clauses,
)
from torchmigrate.documents.version_clauses import parse_clauses
from torchmigrate.documents.version_mentions import VersionMention, find_mentions, render_mention
from torchmigrate.model.rule_options import RuleOptions
from torchmigrate.model.torch_versions import Version, parse_version
from torchmigrate.model.vocabulary import Sort
from torchmigrate.prefilter.project_file_kinds import kind_of
from torchmigrate.project.project_facts import Project
from torchmigrate.tables.torch_builds import TorchBuild, get_major, parse_number
from torchmigrate.text.source_text import SourceText

_MINIMUM = re.compile(r"(?i)(?<![a-z])(?:min|minimum|minimal|oldest|lowest|legacy)(?![a-z])")
"""Words in the names of files and jobs that test the oldest versions."""

_APART = re.compile(
    r"(?:^|[/\\])(?:ISSUE_TEMPLATE|(?:legacy|old|archived?|deprecated|attic)(?=[/\\]))", re.IGNORECASE
)
"""Files that describe no environment, or one that nobody uses any more."""

EnvironmentKey = tuple[str, tuple[int, ...]]
"""An environment, as its file and the offsets where its parts begin."""

CanMove = Callable[[Reference, SourceText], bool]
"""A predicate: whether the environment of a reference can move, by itself or with related files."""


@dataclass(frozen=True, slots=True)
class _LeftBehind:
    """A place in the project that would not move, as far as it is the same for all environments that do."""

    path: str
    place: EnvironmentKey | None
    cuda: str
    """The CUDA version there; empty if the place names an older torch."""
    is_mention: bool
    """Whether it is a mere mention, and no reference."""
    words: str
    """The place and what it says, for a message."""
    folder: str | None
    """The folder whose environments it belongs to; None if it belongs to all, empty if to none."""


def find_left_behind(
    moved: Iterable[tuple[str, Environment]],
    cuda: str,
    chosen: TorchBuild,
    options: RuleOptions,
    project: Project,
    moves: CanMove,
) -> list[tuple[str, bool]]:
    """Return the places that would not fit, each with whether it lies beside what moves; ``cuda`` is installed now.

    What lies beside it is installed with it, unless something shows otherwise: then nothing may move without it.
    """
    moved = list(moved)
    places = {_create_environment_key(path, environment) for path, environment in moved}
    paths = {path for path, _ in places}
    folders = {None, *map(os.path.dirname, paths)}
    keeps_major = get_major(cuda) == get_major(chosen.cuda)
    largest = parse_number(chosen.cuda or "")[0]
    stays = project.compute_once(("stays", options), lambda: _find_left_behind(options, project, moves))
    found: dict[str, bool] = {}
    for one in stays:
        if one.place in places or (one.is_mention and one.path in paths):
            continue
        text = ""
        if not one.cuda:
            text = f"{one.words} would have to change too"
        elif not keeps_major and parse_number(one.cuda)[0] < largest:
            text = f"{one.words} is for CUDA {get_major(one.cuda)}, but this would be CUDA {chosen.cuda}"
        if text:
            found[text] = found.get(text, False) or one.folder in folders
    return list(found.items())


_ALTERNATIVE_KINDS = ("docker", "shell", "make", "notebook")
"""Kinds of files of which each is an environment of its own, whatever lies beside it; so is an image of Cog."""


def _find_own_folder(saying: VersionMention) -> str | None:
    """Return the folder of the environments that a place describes: None for all, empty for none but its own.

    What conda installs by itself is another environment than what pip does; a CUDA that a script names is that of the machines.
    """
    path, reference = saying.path, saying.reference
    of_conda = re.match(r"pytorch-cuda|cudatoolkit", saying.text)
    if reference is None and saying.cuda and kind_of(path) == "shell" and not of_conda:
        return None
    if saying.environment and base_images.find_cog_versions(saying.environment):
        return ""
    installed = (
        saying.environment.find_references(Sort.REQUIREMENT, *TORCH_NAMES) if saying.environment else []
    )
    by_conda = any(
        one.style is VersionStyle.CONDA for one in (*installed, *([reference] if reference else []))
    )
    return "" if by_conda or kind_of(path) in _ALTERNATIVE_KINDS else os.path.dirname(path)


def _create_environment_key(path: str, environment: Environment) -> EnvironmentKey:
    """Return a key of an environment that stays the same when its file is read again."""
    return path, tuple(span.start for span in environment.spans)


def _find_left_behind(options: RuleOptions, project: Project, moves: CanMove) -> list[_LeftBehind]:
    """Return the places that name a CUDA, or a torch that is older than the target, and do not move."""
    every = [
        one
        for one in find_mentions(project)
        if not (_is_test_of_minimum(one) or is_vendored(one.path, project) or _APART.search(one.path))
    ]
    moving: dict[EnvironmentKey, bool] = {}
    # What moves by itself is no blocker, even if its own fix has not been applied yet.
    for one in every:
        if one.reference and one.source and one.environment and _is_outdated(one, options):
            place = _create_environment_key(one.path, one.environment)
            if place not in moving:
                moving[place] = moves(one.reference, one.source)
    found = []
    for one in every:
        at = _create_environment_key(one.path, one.environment) if one.environment else None
        is_old = _is_outdated(one, options)
        if (at is None or not moving.get(at)) and (is_old or one.cuda):
            cuda, words = "" if is_old else one.cuda, render_mention(one, project)
            folder = _find_own_folder(one)
            found.append(_LeftBehind(one.path, at, cuda, one.reference is None, words, folder))
    return found


def _is_outdated(saying: VersionMention, options: RuleOptions) -> bool:
    """Return whether a place names a torch older than the target, or a build that the target lacks."""
    reference = saying.reference
    if reference is None:
        return bool(saying.torch) and parse_version(saying.torch) < options.target
    if reference.sort is Sort.REQUIREMENT:
        return bool(find_excluding_clauses(reference, options))
    if reference.sort is Sort.INDEX:
        tag = find_cuda_tag(reference)
        asks = reference.unit.find_references(Sort.REQUIREMENT, *TORCH_NAMES)
        return bool(tag and asks and explain_missing_build(tag.name, options))
    if reference.sort is Sort.IMAGE and reference.name == "pytorch/pytorch":
        found = base_images.TORCH_TAG.fullmatch(reference.text)
        return found is not None and parse_version(found["torch"]) < options.target
    return reference.name == "nvidia/pytorch"


def _is_test_of_minimum(saying: VersionMention) -> bool:
    """Return whether a place belongs to tests of an old version."""
    if _MINIMUM.search(re.sub(r"[-_./\d]+", " ", "/".join(saying.path.split("/")[-2:]))):
        return True
    if saying.reference is None or saying.source is None or saying.environment is None:
        return False
    if saying.reference.unit.role is not InstallRole.TEST:
        return False
    if saying.reference.several:
        return True
    text = saying.environment.extract_text(saying.source.original.decode("latin-1"))
    return _MINIMUM.search(text) is not None


_TORCHCODEC_SINCE: Version = (2, 9)
"""The first torchaudio whose `load` and `save` need torchcodec: https://github.com/pytorch/audio/pull/4039."""
_AUDIO_CALL = r"\btorchaudio\.(?:load|save)\(|\bfrom torchaudio import[^\n]*\b(?:load|save)\b"


def explain_missing_codec(environments: Sequence[Environment], target: Version, project: Project) -> str:
    """Return which call needs torchcodec after a move, if nothing requires that; empty if none does."""
    audio = find_references_in(environments, Sort.REQUIREMENT, "torchaudio", "torchcodec")
    torches = find_references_in(environments, Sort.REQUIREMENT, *TORCH_NAMES)
    older = any(
        (clause.minor_version or _TORCHCODEC_SINCE) < _TORCHCODEC_SINCE
        for one in torches
        for clause in parse_clauses(one)
        if clause.is_upper
    )
    if {one.name for one in audio} != {"torchaudio"} or target < _TORCHCODEC_SINCE or not older:
        return ""
    looked_at = project.find_spellings((("torchaudio",), (_AUDIO_CALL,)), beside="")
    elsewhere = ((path, line) for path, line, _ in project.search_unread_files({" .py .ipynb ": _AUDIO_CALL}))
    for path, line in (*looked_at, *elsewhere):
        if path.endswith((".py", ".ipynb")):
            return f"{project.get_display_path(path)}:{line} needs torchcodec since torchaudio 2.9, but nothing here requires it"
    return ""
