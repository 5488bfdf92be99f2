"""The proposal for an environment: one fix that moves all of it to the target torch, or the reason why there is none.

A pin, the index, the companions, the libraries and the image depend on each other: half of such a change cannot be
installed. So every finding in an environment has the same fix.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace

from torchmigrate.documents.build import build_for, cuda_now, gives_torch, tags
from torchmigrate.documents.document import Document
from torchmigrate.documents.fitting import State, held_back
from torchmigrate.documents.meant import check_may_move, check_unit
from torchmigrate.documents.merging import merged
from torchmigrate.documents.neighbours import Missing, Neighbour, neighbour_of, neighbours
from torchmigrate.documents.references import Environment, Reference, Role, references_in
from torchmigrate.documents.relocation import Relocation
from torchmigrate.documents.specifiers import applies, clauses
from torchmigrate.documents.staying import check_audio, check_staying
from torchmigrate.documents.upgrade import COMPANIONS, TORCH, lacks, tag_of
from torchmigrate.model.findings import Edit, Fix, Joint, NoFix
from torchmigrate.model.options import Options
from torchmigrate.model.versions import Version, parse, render
from torchmigrate.model.vocabulary import Safety, Sort
from torchmigrate.project.project import Project
from torchmigrate.tables import matrix, wheels
from torchmigrate.tables.matrix import Build
from torchmigrate.text.edits import apply
from torchmigrate.text.source import Source


def fix(reference: Reference, source: Source, options: Options, project: Project) -> Fix:
    """Return the fix for the whole environment of a reference. Raises NoFix where there is none.

    Where related files have to change too, it is this file's part of a multi-file fix.
    """
    check_unit(reference.unit, source, options, project)
    key = ("fix", reference.unit.environment, options)
    found = project.once(key, lambda: _fix(reference.unit.environment, source, options, project))
    if isinstance(found, NoFix):
        raise NoFix(*found.args)
    return found


def _fix(environment: Environment, source: Source, options: Options, project: Project) -> Fix | NoFix:
    """Return the fix, or why there is none, with the nearest release that would be possible."""
    try:
        return _whole(environment, source, options, project)
    except NoFix as reason:
        if nearest := _nearest(environment, source, options, project):
            return NoFix(f"{reason}; torch {nearest} would be possible (--target-version {nearest})")
        return reason


def _nearest(environment: Environment, source: Source, options: Options, project: Project) -> str:
    """Return the newest release before the target to which an environment could move; empty if there is none."""
    older = [version for name in matrix.versions() if _OLDEST <= (version := parse(name)) < options.target]
    for target in sorted(older, reverse=True):
        with contextlib.suppress(NoFix):
            _whole(environment, source, replace(options, target=target, resolve=False), project)
            return render(target)
    return ""


_OLDEST: Version = (2, 10)
"""The oldest release that is proposed instead of the target."""


def _whole(environment: Environment, source: Source, options: Options, project: Project) -> Fix:
    """Return the move to one release. Raises NoFix if it is not possible, or leaves an older torch in the project."""
    move = _move(environment, source, options, project)

    def moves(reference: Reference, source: Source) -> bool:
        # A resolver takes seconds: it is asked about the proposal that is shown, not about every other one.
        with contextlib.suppress(NoFix):
            check_unit(reference.unit, source, options, project)
            _move(reference.unit.environment, source, replace(options, resolve=False), project)
            return True
        return False

    check_staying(move.moved, move.cuda, move.chosen, options, project, moves)
    return move.fix


@dataclass(frozen=True, slots=True)
class _Move:
    """The move of an environment; ``moved`` are all environments that change, each with its file."""

    fix: Fix
    moved: list[tuple[str, Environment]]
    cuda: str
    """The CUDA version of what is installed now; empty if unknown."""
    chosen: Build


def _move(environment: Environment, source: Source, options: Options, project: Project) -> _Move:
    """Return the move to one release, without regard to the rest of the project. Raises NoFix if it is not possible."""
    path = os.path.realpath(source.path)
    try:
        beside = tuple(neighbours(path, environment, project))
        together = [environment, *(one.environment for one in beside if _moves(one))]
        chosen = build_for(together, options)
        own = Relocation(environment, source, options, chosen, beside=tuple(one.path for one in beside))
        others = _others(own, beside, project)
    except Missing as missing:
        raise NoFix(f"it is unclear what `{missing.name}` installs") from None
    # The edits of this file depend on it: an index has to stay if it may serve pins in the others.
    own.moves_related = bool(others)
    own.make()
    every = [environment, *(one.environment for one in beside)]
    _check_complete(own, others, every)
    edits = merged(own.edits, own.source)
    _check_unused(own, edits)
    moved = [_moved(one, relocation) for one, relocation in others.items()]
    state = _state(own, edits, (*moved, *(one for one in beside if one not in others)), others.values())
    answer = _resolved(state, source, edits) if options.resolve else ""
    if blocker := "" if answer else held_back(state):
        raise NoFix(blocker)
    _check_named(environment, every)
    check_audio(every, options.target, project)
    safety = Safety.SAFE if not others and own.is_safe() else Safety.UNSAFE
    joint = _joint(source.path, [one.path for one in others])
    title = own.title if joint is None else f"{own.title}, in {', '.join(joint.paths)}"
    places = [(path, environment), *((one.path, one.environment) for one in others)]
    return _Move(Fix(edits, safety, title + answer, joint=joint), places, cuda_now(together), chosen)


def _check_complete(own: Relocation, others: dict[Neighbour, Relocation], every: list[Environment]) -> None:
    """Raise NoFix where the edits lead to several builds, change nothing, or do not decide the torch."""
    variants = tags([own.environment, *(one.environment for one in others)], gives_torch)
    if len(variants) > 1 and others:
        builds = ", ".join(sorted(variants))
        raise NoFix(f"the files that have to change together use several builds: {builds}")
    _check_served((own, *others.values()))
    if not own.edits:
        raise NoFix("nothing here is older than the target")
    torches = references_in(every, Sort.REQUIREMENT, *TORCH)
    if not (torches or references_in(every, Sort.IMAGE, "pytorch/pytorch")):
        raise NoFix("the torch version is set elsewhere")


def _check_served(relocations: Iterable[Relocation]) -> None:
    """Raise NoFix where an index replaces the default index, and may lack the release of a companion."""
    relocations = list(relocations)
    for variant in filter(None, (one.only_variant for one in relocations)):
        for name, release in (pair for one in relocations for pair in one.releases.items()):
            made = matrix.made_with(name, release)
            if made and wheels.published(parse(made), variant) is not True:
                raise NoFix(f"it is unclear whether the index for {variant} has {name} {release}")


def _check_unused(own: Relocation, edits: tuple[Edit, ...]) -> None:
    """Raise NoFix for an index that is no option of a known tool, and that no edit changes."""
    for index in own.environment.of(Sort.INDEX):
        tag = None if index.option else tag_of(index)
        if tag is None or not lacks(tag.name, own.options):
            continue
        spans = [piece.span for piece in index.value.pieces]
        if not any(span.start <= edit.start <= span.end for span in spans for edit in edits):
            raise NoFix(f"the file also names the index for {tag.name}, and it is unclear what uses it")


def _check_named(environment: Environment, every: list[Environment]) -> None:
    """Raise NoFix for a pin of a build whose index is set elsewhere: on a command line, or in pip's configuration."""
    if references_in(every, Sort.INDEX):
        return
    for one in environment.of(Sort.REQUIREMENT, *TORCH, *COMPANIONS):
        local = [clause for clause in clauses(one) if clause.local.startswith("cu") and clause.minor]
        if any(wheels.published(clause.minor or (0, 0), clause.local) is not False for clause in local):
            raise NoFix(f"the index for `{one.name}{one.text}` is set elsewhere")


def _moves(neighbour: Neighbour) -> bool:
    """Return whether a related file can move with an environment; the bounds of a library do not."""
    return neighbour.document.kind in _MOVING and all(
        unit.role is Role.INSTALL for unit in neighbour.environment.units
    )


_MOVING = ("requirements", "docker", "shell", "make", "yaml")


def _others(own: Relocation, beside: tuple[Neighbour, ...], project: Project) -> dict[Neighbour, Relocation]:
    """Return the related files that have to change too, with their edits, and those related to them. Raises NoFix, Missing."""
    found: dict[Neighbour, Relocation] = {}
    path = os.path.realpath(own.source.path)
    seen: set[tuple[str, int]] = set()
    waiting = list(beside)
    while waiting:
        one = waiting.pop(0)
        number = one.document.environments.index(one.environment)
        if one.path == path or (one.path, number) in seen or not _moves(one):
            continue
        seen.add((one.path, number))
        relocation = Relocation(one.environment, one.document, own.options, own.chosen, moves_related=True)
        relocation.make()
        if relocation.edits:
            check_may_move(one.document, one.environment, own.options)
            found[one] = relocation
            waiting += neighbours(one.path, one.environment, project)
    return found


def _moved(neighbour: Neighbour, relocation: Relocation) -> Neighbour:
    """Return a related environment as it will be after its edits. Raises NoFix."""
    document = Document.read(
        neighbour.path, neighbour.document.replaced(merged(relocation.edits, relocation.source))
    )
    number = neighbour.document.environments.index(neighbour.environment)
    return neighbour_of(document, document.environments[number])


def _state(
    own: Relocation, edits: tuple[Edit, ...], beside: tuple[Neighbour, ...], others: Iterable[Relocation]
) -> State:
    """Return the environment as it would be after the edits."""
    elsewhere = [
        Edit(one.span.start, one.span.end, "")
        for one in own.environment.of(Sort.REQUIREMENT)
        if not applies(one, own.chosen.python)
    ]
    text = _edited(own.source, own.environment, (*edits, *elsewhere))
    every = [own, *others]
    releases = {name: release for one in every for name, release in one.releases.items()}
    replaced = frozenset(name for one in every for name in one.replaced)
    return State(own.environment, text, beside, own.chosen, releases, replaced)


def _joint(shown: str, others: Iterable[str]) -> Joint | None:
    """Return the key of a multi-file fix; None for one file. Paths are relative or absolute as ``shown`` is."""
    folder, real = os.path.dirname(shown), os.path.dirname(os.path.realpath(shown))
    paths = {os.path.normpath(os.path.join(folder, os.path.relpath(path, real))) for path in others}
    every = tuple(sorted({shown, *paths}))
    return Joint(f"the upgrade of {every[0]}", every) if len(every) > 1 else None


def _resolved(state: State, source: Source, edits: tuple[Edit, ...]) -> str:
    """Return the answer of a resolver, for the title; empty if it could not be asked. Raises NoFix if nothing resolves."""
    from torchmigrate.documents import resolve

    if blocker := held_back(replace(state, resolves=True)):
        raise NoFix(blocker)
    answer = resolve.asked(state, source, edits)
    if answer.resolves is None and (blocker := held_back(state)):
        raise NoFix(f"{blocker}; {answer.text}")
    if answer.resolves is False:
        raise NoFix(answer.text)
    return f" ({answer.text})"


def _edited(source: Source, environment: Environment, edits: tuple[Edit, ...]) -> str:
    """Return the text of the environment after the edits."""
    if not environment.spans:
        return apply(source.original, list(edits)).decode("latin-1")
    parts = []
    for span in environment.spans:
        inside = [
            Edit(edit.start - span.start, edit.end - span.start, edit.text)
            for edit in edits
            if span.start <= edit.start and edit.end <= span.end
        ]
        parts.append(apply(source.original[span.start : span.end], inside).decode("latin-1"))
    return "\n".join(parts)
