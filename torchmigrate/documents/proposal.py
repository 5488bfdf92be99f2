"""The proposal for an environment: one fix that moves all of it to the target torch, or the reason why there is none.

A pin, the index, the companions, the libraries and the image depend on each other: half of such a change cannot be
installed. So every finding in an environment has the same fix.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from torchmigrate.documents import conda_builds
from torchmigrate.documents.blocker import join_reasons
from torchmigrate.documents.build_choice import (
    NoBuild,
    choose_build,
    find_current_cuda,
    needs_index,
)
from torchmigrate.documents.deliberate_versions import check_unit_movable
from torchmigrate.documents.documented_steps import find_documented_steps
from torchmigrate.documents.file_edits import merge_edits
from torchmigrate.documents.follow_up_commands import list_commands
from torchmigrate.documents.move_checks import (
    check_complete,
    check_local_builds,
    check_loose_indexes,
    check_pinned_build,
    is_safe_move,
)
from torchmigrate.documents.project_blockers import explain_missing_codec, find_left_behind
from torchmigrate.documents.project_names import find_own_names
from torchmigrate.documents.proposed_edits import ProposedEdits
from torchmigrate.documents.proposed_state import create_state
from torchmigrate.documents.references import Environment, Reference
from torchmigrate.documents.related_edits import (
    apply_related_edits,
    can_move_along,
    collect_related,
    collect_related_edits,
)
from torchmigrate.documents.related_files import RelatedEnvironment
from torchmigrate.documents.settlement import Settlement, settle_blockers
from torchmigrate.model.findings import Blocked, Fix, MultiFileFix, NoFix, Proposal, TorchMove
from torchmigrate.model.rule_options import RuleOptions
from torchmigrate.model.torch_versions import Version, parse_version, render_version
from torchmigrate.model.vocabulary import Safety
from torchmigrate.project.project_facts import Project
from torchmigrate.tables.torch_builds import TorchBuild, list_versions
from torchmigrate.text.source_text import SourceText


def create_fix(reference: Reference, source: SourceText, options: RuleOptions, project: Project) -> Fix:
    """Return the fix for the whole environment of a reference. Raises NoFix where there is none.

    Where related files have to change too, it is this file's part of a multi-file fix.
    """
    check_unit_movable(reference.unit, source, options, project)
    key = ("fix", reference.unit.environment, options)
    found = project.compute_once(
        key, lambda: _create_fix_or_reason(reference.unit.environment, source, options, project)
    )
    if isinstance(found, NoFix):
        raise found
    return found


def _create_fix_or_reason(
    environment: Environment, source: SourceText, options: RuleOptions, project: Project
) -> Fix | NoFix:
    """Return the fix, or why there is none, with the nearest release that would be possible."""
    try:
        return _create_complete_move(environment, source, options, project)
    except NoFix as found:
        if str(found) == _NOTHING_OLDER:
            return found
        reason = _add_proposal(found, source, options, project)
        nearest = _find_nearest_move(environment, source, options, project, reason)
        if nearest is None:
            return reason
        release, move = nearest
        instead = f"torch {release} would be possible (--target-version {release})"
        choices = (*reason.proposal.choices, instead)
        return Blocked(f"{reason}; {instead}", replace(reason.proposal, choices=choices, instead=move))


def _add_proposal(reason: NoFix, source: SourceText, options: RuleOptions, project: Project) -> Blocked:
    """Return why a move is not possible, with the proposal that says so where there is none yet."""
    if isinstance(reason, Blocked):
        return reason
    cause, ways = (reason.cause, reason.ways) if isinstance(reason, NoBuild) else (str(reason), ())
    title = f"Use torch {render_version(options.target)}"
    paths = (project.get_display_path(os.path.realpath(source.path)),)
    return Blocked(str(reason), Proposal(title, paths, blocked=(cause,), choices=ways))


def _find_nearest_move(
    environment: Environment, source: SourceText, options: RuleOptions, project: Project, reason: NoFix
) -> tuple[str, TorchMove | None] | None:
    """Return the newest release before the target to which an environment could move, and how; None if there is none.

    ``reason`` is why it cannot move to the target; the proposal says why it cannot move to the next release.
    """
    older = [
        version
        for name in list_versions()
        if _OLDEST_PROPOSED <= (version := parse_version(name)) < options.target
    ]
    above = options.target
    for target in sorted(older, reverse=True):
        try:
            # A resolver takes seconds: it is asked only about what the tables allow.
            for resolves in dict.fromkeys((False, options.resolve)):
                other = replace(options, target=target, resolve=resolves)
                proposal = _create_complete_move(environment, source, other, project).proposal
        except NoFix as next_reason:
            above, reason = target, next_reason
            continue
        if proposal is None:
            return render_version(target), None
        told = {one.name: getattr(proposal, one.name) for one in fields(TorchMove)}
        if above != options.target:
            cause = reason.cause if isinstance(reason, NoBuild) else reason
            told["blocked"] = (f"not torch {render_version(above)}: {cause}",)
        return render_version(target), TorchMove(**told)
    return None


_NOTHING_OLDER = "nothing here is older than the target"
_OLDEST_PROPOSED: Version = (2, 10)
"""The oldest release that is proposed instead of the target."""


def _create_complete_move(
    environment: Environment, source: SourceText, options: RuleOptions, project: Project
) -> Fix:
    """Return the move to one release. Raises NoFix if it is not possible, or leaves an older torch beside it."""
    move = _create_move(environment, source, options, project)

    def can_move(reference: Reference, source: SourceText) -> bool:
        # A resolver takes seconds: it is asked about the proposal that is shown, not about every other one.
        with contextlib.suppress(NoFix):
            check_unit_movable(reference.unit, source, options, project)
            _create_move(reference.unit.environment, source, replace(options, resolve=False), project)
            return True
        return False

    stays = find_left_behind(move.moved, move.cuda, move.chosen, options, project, can_move)
    if beside := [text for text, is_beside in stays if is_beside]:
        raise Blocked(beside[0], replace(move.proposal, blocked=tuple(beside)))
    return replace(move.fix, proposal=replace(move.proposal, left=tuple(text for text, _ in stays)))


@dataclass(frozen=True, slots=True)
class _Move:
    """The move of an environment; ``moved`` are all environments that change, each with its file."""

    fix: Fix
    proposal: Proposal
    moved: list[tuple[str, Environment]]
    cuda: str
    """The CUDA version of what is installed now; empty if unknown."""
    chosen: TorchBuild


def _create_move(
    environment: Environment, source: SourceText, options: RuleOptions, project: Project
) -> _Move:
    """Return the move to one release, without regard to the rest of the project. Raises NoFix if it is not possible."""
    path = os.path.realpath(source.path)
    beside, missing = collect_related(path, environment, project)
    together = [environment, *(one.environment for one in beside if can_move_along(one))]
    chosen = choose_build(together, options)
    own = ProposedEdits(
        environment,
        source,
        options,
        chosen,
        beside=tuple(one.path for one in beside),
        adds_index=needs_index([environment, *(one.environment for one in beside)], chosen),
    )
    others, lacking = collect_related_edits(own, beside, project)
    # The edits of this file depend on it: an index has to stay if it may serve pins in the others.
    own.moves_related = bool(others)
    own.collect_edits()
    with own.noting_reason():
        check_local_builds(own, project)
    every = [environment, *(one.environment for one in beside)]
    if not any(one.reasons for one in (own, *others.values())):
        check_complete(own, others, every)
    edits = merge_edits(own.edits, own.source)
    with own.noting_reason():
        check_loose_indexes(own, edits)
    reasons = tuple(dict.fromkeys(reason for one in (own, *others.values()) for reason in one.reasons))
    if not (reasons or edits or others):
        raise NoFix(_NOTHING_OLDER)
    moved = [apply_related_edits(one, relocation) for one, relocation in others.items()]
    moved += [one for one in beside if one not in others]
    originals = tuple(dict.fromkeys((*others, *beside)))
    state = create_state(own, edits, tuple(moved), originals, others.values())
    settlement = settle_blockers(
        state,
        find_own_names(project),
        asks=options.resolve,
        fixed_paths=frozenset(one.path for one in originals if not can_move_along(one)),
    )
    if codec := explain_missing_codec(every, options.target, project):
        settlement = settlement.with_check(
            codec, "add torchcodec, which torchaudio's load and save need since 2.9"
        )
    for name in dict.fromkeys((*missing, *lacking)):
        unclear = f"it is unclear what `{name}` installs"
        settlement = settlement.with_check(
            unclear, f"{name} is not in the project; what it installs has to fit"
        )
    for documented in find_documented_steps(path, state, project):
        settlement = settlement.with_check(*documented)
    changed = {id(one.relaxation.requirement): one.relaxation.new for one in settlement.relaxed}
    if kept := [changed.get(id(one), one.shown) for one in conda_builds.list_pins_of_builds(state)]:
        settlement = settlement.with_check(
            "it is unclear which builds conda has for another Python",
            f"conda: it needs builds of {', '.join(kept)} for the new Python; `conda search` lists them",
        )
    proposal = _describe_move(own, others, settlement, project)
    _check_settled(settlement, replace(proposal, blocked=(*reasons, *proposal.blocked)), reasons, options)
    if not own.adds_index:
        check_pinned_build(environment, every)
    edits = merge_edits(
        [*own.edits, *(e for one in settlement.relaxed if not one.path for e in one.relaxation.edits)], source
    )
    if not edits:
        raise NoFix(_NOTHING_OLDER)
    paths = dict.fromkeys([*(one.path for one in others), *(r.path for r in settlement.relaxed if r.path)])
    safety = Safety.SAFE if not paths and not settlement.reasons and is_safe_move(own) else Safety.UNSAFE
    joint = _create_joint(source.path, paths)
    title = proposal.title if joint is None else f"{proposal.title}, in {', '.join(joint.paths)}"
    if settlement.relaxed:
        title += (
            f"; relax {', '.join(f'{r.relaxation.old} → {r.relaxation.new}' for r in settlement.relaxed)}"
        )
    answer = f" ({settlement.answer})" if settlement.answer else ""
    places = [(path, environment), *((one.path, one.environment) for one in originals if one.path in paths)]
    fix = Fix(edits, safety, title + answer, joint=joint)
    return _Move(fix, proposal, places, find_current_cuda(together), chosen)


def _describe_move(
    own: ProposedEdits,
    others: dict[RelatedEnvironment, ProposedEdits],
    settlement: Settlement,
    project: Project,
) -> Proposal:
    """Return what a move does, needs and leaves, in words."""
    paths = [os.path.realpath(own.source.path), *(one.path for one in others)]
    paths += [one.path for one in settlement.relaxed if one.path]
    relaxed = (
        f"{r.relaxation.old} → {r.relaxation.new}: {r.reason.partition(': ')[2] or r.reason}"
        for r in settlement.relaxed
    )
    return Proposal(
        max((own, *others.values()), key=lambda one: (one.leaves_conda, one.pins, len(one.edits))).fix_title,
        tuple(sorted({project.get_display_path(path) for path in paths})),
        tuple(sorted(relaxed)),
        tuple(sorted({name for one in (own, *others.values()) for name in one.deleted})),
        join_reasons(one.reason for one in settlement.blockers),
        checks=settlement.checks,
        commands=tuple(dict.fromkeys(list_commands(sorted(set(paths)), project))),
    )


def _check_settled(
    settlement: Settlement, proposal: Proposal, reasons: tuple[str, ...], options: RuleOptions
) -> None:
    """Raise Blocked where something blocks that nothing settles, or that only ``--relax`` does.

    ``reasons`` are those against the edits.
    """
    if not reasons and not settlement.blockers and (options.relax or not settlement.reasons):
        return
    told = [*reasons, *settlement.reasons]
    changes = [f"`{one.relaxation.old}` → `{one.relaxation.new}`" for one in settlement.relaxed]
    if not reasons and not settlement.blockers:
        told.append(
            f"--relax changes {', '.join(changes)}"
            if changes
            else "--relax moves it, and leaves that to check"
        )
    elif settlement.newest_torch:
        told.append(f"the newest torch that fits is {settlement.newest_torch}")
    if not settlement.is_answered:
        told.append(settlement.answer)
    if not options.resolve and any("--resolve" in check for check in settlement.all_checks):
        told.append("--resolve asks the index")
    raise Blocked("; ".join(told), proposal)


def _create_joint(shown: str, others: Iterable[str]) -> MultiFileFix | None:
    """Return the key of a multi-file fix; None for one file. Paths are relative or absolute as ``shown`` is."""
    folder, real = os.path.dirname(shown), os.path.dirname(os.path.realpath(shown))
    paths = {os.path.normpath(os.path.join(folder, os.path.relpath(path, real))) for path in others}
    every = tuple(sorted({shown, *paths}))
    return MultiFileFix(f"the upgrade of {every[0]}", every) if len(every) > 1 else None
