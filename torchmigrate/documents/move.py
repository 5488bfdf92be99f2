"""The move of an environment to the target torch, as one fix: all of it goes, or nothing does.

A pin, the index, the companions, the libraries and the image go together: half of such a change installs nothing. So
every finding in an environment carries the same fix, which is made here.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace

from torchmigrate.documents.audio import check_audio
from torchmigrate.documents.build import build_for, cuda_now, gives_torch, tags
from torchmigrate.documents.document import Document
from torchmigrate.documents.fitting import State, held_back
from torchmigrate.documents.meant import check_may_move, check_unit
from torchmigrate.documents.merging import merged
from torchmigrate.documents.neighbours import Missing, Neighbour, neighbour_of, neighbours
from torchmigrate.documents.references import Environment, Reference, Role
from torchmigrate.documents.relocation import Relocation
from torchmigrate.documents.specifiers import applies, clauses
from torchmigrate.documents.staying import check_staying
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
    """The fix for the whole environment of a reference; raises NoFix where there is none.

    Where lists that go into the same environment, or what installs them, have to change too, it is the part of one file.
    """
    check_unit(reference.unit, source, options, project)
    key = ("fix", reference.unit.environment, options)
    found = project.once(key, lambda: _fix(reference.unit.environment, source, options, project))
    if isinstance(found, NoFix):
        raise NoFix(*found.args)
    return found


def _fix(environment: Environment, source: Source, options: Options, project: Project) -> Fix | NoFix:
    """The fix, or why there is none."""
    try:
        return _whole(environment, source, options, project)
    except NoFix as reason:
        if nearest := _nearest(environment, source, options, project):
            return NoFix(f"{reason}; it could move to torch {nearest} (--target-version {nearest})")
        return reason


def _nearest(environment: Environment, source: Source, options: Options, project: Project) -> str:
    """The newest release before the target to which an environment could move; empty for none."""
    older = [version for name in matrix.versions() if _OLDEST <= (version := parse(name)) < options.target]
    for target in sorted(older, reverse=True):
        with contextlib.suppress(NoFix):
            _whole(environment, source, replace(options, target=target, resolve=False), project)
            return render(target)
    return ""


_OLDEST: Version = (2, 10)
"""The oldest release that is proposed in the target's place."""


def _whole(environment: Environment, source: Source, options: Options, project: Project) -> Fix:
    """The move to one release, if it leaves nothing in the project behind. Raises NoFix."""
    move = _move(environment, source, options, project)

    def moves(reference: Reference, source: Source) -> bool:
        with contextlib.suppress(NoFix):
            check_unit(reference.unit, source, options, project)
            _move(reference.unit.environment, source, replace(options, resolve=False), project)
            return True
        return False

    check_staying(move.moved, move.cuda, move.chosen, options, project, moves)
    return move.fix


@dataclass(frozen=True, slots=True)
class _Move:
    """The move of an environment with what goes along; ``moved`` has all of that, by file."""

    fix: Fix
    moved: list[tuple[str, Environment]]
    cuda: str
    """The CUDA of what is installed now; empty if that is not known."""
    chosen: Build


def _move(environment: Environment, source: Source, options: Options, project: Project) -> _Move:
    """The move to one release, whatever stays elsewhere. Raises NoFix where there is none."""
    path = os.path.realpath(source.path)
    try:
        beside = tuple(neighbours(path, environment, project))
        together = [environment, *(one.environment for one in beside if _moves(one))]
        chosen = build_for(together, options)
        own = Relocation(environment, source, options, chosen, beside=tuple(one.path for one in beside))
        others = _others(own, beside, project)
    except Missing as missing:
        raise NoFix(f"what `{missing.name}` brings is not known here") from None
    own.shares = bool(others)
    own.make()
    variants = tags([own.environment, *(one.environment for one in others)], gives_torch)
    if len(variants) > 1 and others:
        raise NoFix(f"the files that move together offer several builds: {', '.join(sorted(variants))}")
    _check_served((own, *others.values()))
    if not own.edits:
        raise NoFix("nothing that is asked for here is older than the target")
    if not _knows_torch(environment, beside):
        raise NoFix("which torch is installed here is said elsewhere")
    edits = merged(own.edits, own.source)
    _check_unused(own, edits)
    moved = [_moved(one, relocation) for one, relocation in others.items()]
    state = _state(own, edits, (*moved, *(one for one in beside if one not in others)), others.values())
    said = _resolved(state, source, edits) if options.resolve else ""
    if held := "" if said else held_back(state):
        raise NoFix(held)
    _check_named(environment, beside)
    check_audio([environment, *(one.environment for one in beside)], options.target, project)
    safety = Safety.SAFE if not others and own.is_safe() else Safety.UNSAFE
    joint = _joint(source.path, [one.path for one in others])
    title = own.title if joint is None else f"{own.title}, in {', '.join(joint.paths)}"
    places = [(path, environment), *((one.path, one.environment) for one in others)]
    return _Move(Fix(edits, safety, title + said, joint=joint), places, cuda_now(together), chosen)


def _check_served(relocations: Iterable[Relocation]) -> None:
    """Raises NoFix where one index alone serves what is asked for, and a companion was made before it had a build."""
    relocations = list(relocations)
    for variant in filter(None, (one.only for one in relocations)):
        for name, release in (pair for one in relocations for pair in one.releases.items()):
            made = matrix.made_with(name, release)
            if made and wheels.published(parse(made), variant) is not True:
                raise NoFix(f"whether the index for {variant} has {name} {release} is not known here")


def _check_unused(own: Relocation, edits: tuple[Edit, ...]) -> None:
    """Raises NoFix for an index that just stands in the file, for a tool that is not known, and would stay behind."""
    for index in own.environment.of(Sort.INDEX):
        tag = None if index.option else tag_of(index)
        if tag is None or not lacks(tag.name, own.options):
            continue
        spans = [piece.span for piece in index.value.pieces]
        if not any(span.start <= edit.start <= span.end for span in spans for edit in edits):
            raise NoFix(f"the index for {tag.name} stands beside it, and what uses that is not known here")


def _check_named(environment: Environment, beside: tuple[Neighbour, ...]) -> None:
    """Raises NoFix for a pin of a build whose index is named elsewhere: on a command line, or in a setting of pip's."""
    every = [environment, *(one.environment for one in beside)]
    if any(one.of(Sort.INDEX) for one in every):
        return
    for one in environment.of(Sort.REQUIREMENT, *TORCH, *COMPANIONS):
        local = [clause for clause in clauses(one) if clause.local.startswith("cu") and clause.minor]
        if any(wheels.published(clause.minor or (0, 0), clause.local) is not False for clause in local):
            raise NoFix(f"the index that has `{one.name}{one.text}` is named elsewhere")


def _moves(neighbour: Neighbour) -> bool:
    """Whether a neighbour can move with an environment: a list, or what installs it; a library's bounds are its own."""
    return neighbour.document.kind in _MOVING and all(
        unit.role is Role.INSTALL for unit in neighbour.environment.units
    )


_MOVING = ("requirements", "docker", "shell", "make", "yaml")


def _others(own: Relocation, beside: tuple[Neighbour, ...], project: Project) -> dict[Neighbour, Relocation]:
    """What has to move together with an environment, and what has to move with that. Raises NoFix and Missing."""
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
        relocation = Relocation(one.environment, one.document, own.options, own.chosen, shares=True)
        relocation.make()
        if relocation.edits:
            check_may_move(one.document, one.environment, own.options)
            found[one] = relocation
            waiting += neighbours(one.path, one.environment, project)
    return found


def _moved(neighbour: Neighbour, relocation: Relocation) -> Neighbour:
    """A neighbour as it is once it has moved. Raises NoFix."""
    document = Document.read(
        neighbour.path, neighbour.document.replaced(merged(relocation.edits, relocation.source))
    )
    number = neighbour.document.environments.index(neighbour.environment)
    return neighbour_of(document, document.environments[number])


def _state(
    own: Relocation, edits: tuple[Edit, ...], beside: tuple[Neighbour, ...], others: Iterable[Relocation]
) -> State:
    """The environment as it would be."""
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
    """What the parts of several files have in common; None where there is one. Paths are shown as that of this file is."""
    folder, real = os.path.dirname(shown), os.path.dirname(os.path.realpath(shown))
    paths = {os.path.normpath(os.path.join(folder, os.path.relpath(path, real))) for path in others}
    every = tuple(sorted({shown, *paths}))
    return Joint(f"the move of {every[0]}", every) if len(every) > 1 else None


def _resolved(state: State, source: Source, edits: tuple[Edit, ...]) -> str:
    """What a resolver says of a move; empty if it could not be asked. Raises NoFix where it finds no solution."""
    from torchmigrate.documents import resolve

    if held := held_back(replace(state, resolves=True)):
        raise NoFix(held)
    answer = resolve.asked(state, source, edits)
    if answer.resolves is None and (held := held_back(state)):
        raise NoFix(f"{held}; {answer.said}")
    if answer.resolves is False:
        raise NoFix(answer.said)
    return f" ({answer.said})"


def _edited(source: Source, environment: Environment, edits: tuple[Edit, ...]) -> str:
    """The text of the environment once the edits are made."""
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


def _knows_torch(environment: Environment, beside: tuple[Neighbour, ...]) -> bool:
    """Whether an environment, or what goes into the same one, says which torch there is."""
    return any(
        one.of(Sort.REQUIREMENT, *TORCH) or one.of(Sort.IMAGE, "pytorch/pytorch")
        for one in (environment, *(neighbour.environment for neighbour in beside))
    )
