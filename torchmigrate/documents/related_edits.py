"""The edits of the files that are installed together with one that moves."""

from __future__ import annotations

import os

from torchmigrate.documents.deliberate_versions import check_environment_movable
from torchmigrate.documents.file_edits import merge_edits
from torchmigrate.documents.project_documents import ProjectDocument
from torchmigrate.documents.proposed_edits import ProposedEdits
from torchmigrate.documents.references import Environment, InstallRole
from torchmigrate.documents.related_files import MissingFile, RelatedEnvironment, create_related, find_related
from torchmigrate.project.project_facts import Project


def can_move_along(neighbour: RelatedEnvironment) -> bool:
    """Return whether a related file can move with an environment; the bounds of a library do not."""
    return neighbour.document.kind in _MOVABLE_KINDS and all(
        unit.role is InstallRole.INSTALL for unit in neighbour.environment.units
    )


_MOVABLE_KINDS = ("requirements", "docker", "shell", "make", "yaml")


def collect_related(
    path: str, environment: Environment, project: Project
) -> tuple[tuple[RelatedEnvironment, ...], list[str]]:
    """Return the related environments of one, and the lists that it installs and the project lacks."""
    found: list[RelatedEnvironment] = []
    try:
        found.extend(find_related(path, environment, project))
    except MissingFile as missing:
        return tuple(found), [missing.name]
    return tuple(found), []


def collect_related_edits(
    own: ProposedEdits, beside: tuple[RelatedEnvironment, ...], project: Project
) -> tuple[dict[RelatedEnvironment, ProposedEdits], list[str]]:
    """Return the related files that have to change too, with their edits, and those related to them, and the lists that are missing.

    Raises NoFix.
    """
    found: dict[RelatedEnvironment, ProposedEdits] = {}
    lacking: list[str] = []
    path = os.path.realpath(own.source.path)
    seen: set[tuple[str, int]] = set()
    waiting = list(beside)
    while waiting:
        one = waiting.pop(0)
        number = one.document.environments.index(one.environment)
        if one.path == path or (one.path, number) in seen or not can_move_along(one):
            continue
        seen.add((one.path, number))
        relocation = ProposedEdits(
            one.environment,
            one.document,
            own.options,
            own.chosen,
            moves_related=True,
            adds_index=own.adds_index,
        )
        relocation.collect_edits()
        if relocation.edits or relocation.reasons:
            check_environment_movable(one.document, one.environment, own.options)
            found[one] = relocation
            more, missing = collect_related(one.path, one.environment, project)
            waiting += more
            lacking += missing
    return found, lacking


def apply_related_edits(neighbour: RelatedEnvironment, relocation: ProposedEdits) -> RelatedEnvironment:
    """Return a related environment as it will be after its edits. Raises NoFix."""
    document = ProjectDocument.decode_source(
        neighbour.path, neighbour.document.apply_edits(merge_edits(relocation.edits, relocation.source))
    )
    number = neighbour.document.environments.index(neighbour.environment)
    return create_related(document, document.environments[number])
