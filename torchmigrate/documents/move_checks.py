"""What the edits of a move must not do: lead to several builds, leave an index that lacks the new torch, or rely on one elsewhere."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from torchmigrate.documents.build_choice import find_index_variants, provides_torch
from torchmigrate.documents.proposed_edits import ProposedEdits
from torchmigrate.documents.references import Environment, InstallRole, find_references_in
from torchmigrate.documents.related_files import RelatedEnvironment
from torchmigrate.documents.upgrade_rules import COMPANIONS, TORCH_NAMES, explain_missing_build, find_cuda_tag
from torchmigrate.documents.version_clauses import find_lowest_minor, parse_clauses
from torchmigrate.model.findings import Edit, NoFix
from torchmigrate.model.torch_versions import parse_version
from torchmigrate.model.vocabulary import Sort
from torchmigrate.project.project_facts import Project
from torchmigrate.tables import build_selection
from torchmigrate.tables.build_selection import find_last_release, is_published
from torchmigrate.tables.torch_builds import find_oldest_companion_torch


def check_complete(
    own: ProposedEdits, others: dict[RelatedEnvironment, ProposedEdits], every: list[Environment]
) -> None:
    """Raise NoFix where the edits lead to several builds, change nothing, or do not decide the torch."""
    variants = find_index_variants([own.environment, *(one.environment for one in others)], provides_torch)
    if len(variants) > 1 and others:
        builds = ", ".join(sorted(variants))
        raise NoFix(f"the files that have to change together use several builds: {builds}")
    _check_index_serves((own, *others.values()))
    torches = find_references_in(every, Sort.REQUIREMENT, *TORCH_NAMES)
    if not (torches or find_references_in(every, Sort.IMAGE, "pytorch/pytorch")):
        if selecting := find_references_in(every, Sort.REQUIREMENT, "pytorch-cuda"):
            raise NoFix(
                f"conda chooses torch by `{selecting[0].shown}`, which ended with torch 2.5; install torch by pip instead"
            )
        raise NoFix("the torch version is set elsewhere")


def _check_index_serves(relocations: Iterable[ProposedEdits]) -> None:
    """Raise NoFix where an index replaces the default index, and may lack the release of a companion."""
    relocations = list(relocations)
    for variant in filter(None, (one.only_variant for one in relocations)):
        for name, release in (pair for one in relocations for pair in one.family_releases.items()):
            made = find_oldest_companion_torch(name, release)
            if made and is_published(parse_version(made), variant) is not True:
                raise NoFix(f"it is unclear whether the index for {variant} has {name} {release}")


def check_loose_indexes(own: ProposedEdits, edits: tuple[Edit, ...]) -> None:
    """Raise NoFix for an index that is no option of a known tool, and that no edit changes."""
    for index in own.environment.find_references(Sort.INDEX):
        tag = None if index.option else find_cuda_tag(index)
        if tag is None or not explain_missing_build(tag.name, own.options):
            continue
        spans = [piece.span for piece in index.value.pieces]
        if not any(span.start <= edit.start <= span.end for span in spans for edit in edits):
            raise NoFix(f"the file also names the index for {tag.name}, and it is unclear what uses it")


def check_pinned_build(environment: Environment, every: list[Environment]) -> None:
    """Raise NoFix for a pin of a build whose index is set elsewhere: on a command line, or in pip's configuration."""
    if find_references_in(every, Sort.INDEX):
        return
    for one in environment.find_references(Sort.REQUIREMENT, *TORCH_NAMES, *COMPANIONS):
        local = [clause for clause in parse_clauses(one) if clause.local.startswith("cu")]
        if any(c.minor_version and is_published(c.minor_version, c.local) is not False for c in local):
            raise NoFix(f"the index for `{one.shown}` is set elsewhere")


_LOCAL_ITEM = re.compile(
    r"(?m)^[ \t]*- +[\"']?(?:(?:-e|--editable)[ =]+)?(?P<path>\.{1,2}|[\w.-]*/[\w./-]*)[\"']?[ \t]*(?:#.*)?$"
)
"""An item of a list for pip that names a folder: ``- submodules/simple-knn``, ``- -e .``."""


def check_local_builds(own: ProposedEdits, project: Project) -> None:
    """Raise NoFix where torch leaves conda for a list in which pip builds a folder that imports torch to be built.

    pip builds all of a list before it installs any of it; conda's torch is there before.
    """
    text = own.source.original.decode("utf-8", "replace")
    begin = re.search(r"(?m)^[ \t]*- *pip:", text) if own.leaves_conda else None
    for item in _LOCAL_ITEM.finditer(text, begin.end()) if begin else ():
        folder = os.path.join(os.path.dirname(os.path.realpath(own.source.path)), item["path"])
        script, declared = (
            project.read_bytes(os.path.normpath(os.path.join(folder, name)))
            for name in ("setup.py", "pyproject.toml")
        )
        if re.search(rb"(?m)^\s*(?:import|from) torch\b", script) if script else declared is None:
            raise NoFix(
                f"conda's `pytorch` channel ends with torch 2.5, and pip builds `{item['path']}` before it installs"
                " the torch of the same list; install torch by pip first, and this list without it afterwards"
            )


def is_safe_move(own: ProposedEdits) -> bool:
    """Return whether the present state cannot be installed at all, since the required torch has no such build."""
    torches = own.environment.find_references(Sort.REQUIREMENT, *TORCH_NAMES)
    bounds = [find_lowest_minor(torch) for torch in torches]
    # The last release with a variant that the tables lack is older than the tables.
    newest = [find_last_release(tag) or build_selection.COMPLETE_SINCE for tag in own.tags]
    return (
        own.pins == 0
        and not own.moves_image
        and bool(own.tags)
        and all(find_last_release(tag) or not build_selection.is_known_variant(tag) for tag in own.tags)
        and all(unit.role is InstallRole.INSTALL for unit in own.environment.units)
        and bool(bounds)
        and all(bound is not None and bound > last for bound in bounds for last in newest)
    )
