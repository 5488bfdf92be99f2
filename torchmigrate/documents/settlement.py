"""The settlement of what blocks a move: which requirements have to admit which release, and what nothing can settle.

The tables say what each package requires; a resolver, if the user wants it, which releases fit together, and which
of its complaints it had before the move already.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from torchmigrate.documents.blocker import Blocker, join_reasons
from torchmigrate.documents.environment_blockers import find_blockers
from torchmigrate.documents.package_fit import RESOLVER_ADVICE
from torchmigrate.documents.proposed_state import ProposedState
from torchmigrate.documents.python_versions import raise_python
from torchmigrate.documents.references import Reference
from torchmigrate.documents.relaxations import Relaxation, drop_build, relax_requirement
from torchmigrate.documents.resolver_inquiry import Inquiry
from torchmigrate.model.vocabulary import Sort


@dataclass(frozen=True, slots=True)
class RelaxedRequirement:
    """A requirement that has to be relaxed, with the related file that has it (empty: the environment's own), and why."""

    relaxation: Relaxation
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Settlement:
    """What a move takes besides its own edits."""

    relaxed: tuple[RelaxedRequirement, ...] = ()
    checks: tuple[str, ...] = ()
    """What nobody knows, and the user has to check."""
    check_reasons: tuple[str, ...] = ()
    """Why each of them blocks unless the user relaxes."""
    blockers: tuple[Blocker, ...] = ()
    """What nothing settles."""
    answer: str = ""
    """The answer of a resolver, for the title."""
    is_answered: bool = True
    """Whether a resolver that was asked could answer."""
    newest_torch: str = ""
    """The newest torch that a resolver found instead; empty if it was not asked, or found none."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """All reasons why the environment cannot move as it is."""
        told = (
            *(one.reason for one in self.blockers),
            *(one.reason for one in self.relaxed),
            *self.check_reasons,
        )
        return join_reasons(told)

    @property
    def all_checks(self) -> tuple[str, ...]:
        """What is unknown, also of what nothing settles."""
        return (*self.checks, *(one.check for one in self.blockers))

    def with_check(self, reason: str, check: str) -> Settlement:
        """Return the settlement with one more thing that the user has to check."""
        return replace(self, checks=(*self.checks, check), check_reasons=(*self.check_reasons, reason))


def settle_blockers(
    state: ProposedState, own_names: frozenset[str], *, asks: bool, fixed_paths: frozenset[str]
) -> Settlement:
    """Return what it takes to move an environment. ``asks`` says that a resolver may be asked.

    The requirements in ``fixed_paths``, files that do not move along, cannot be relaxed.
    """
    if asks:
        inquiry = Inquiry(state, own_names)
        if inquiry.answer.resolves is not None:
            found = _settle(inquiry.list_blockers(), state, fixed_paths, inquiry)
            return replace(found, checks=(*found.checks, *inquiry.list_old_conflicts()))
        found, text = _settle(find_blockers(state), state, fixed_paths), inquiry.answer.text
        checks = tuple(
            f"{one.removesuffix(RESOLVER_ADVICE)}; {text}" if one.endswith(RESOLVER_ADVICE) else one
            for one in found.checks
        )
        return replace(found, checks=checks, answer=text, is_answered=False)
    return _settle(find_blockers(state), state, fixed_paths)


def _settle(
    blockers: list[Blocker],
    state: ProposedState,
    fixed_paths: frozenset[str],
    inquiry: Inquiry | None = None,
) -> Settlement:
    relaxed, checks, left, unsure = [], [], [], []
    for one in blockers:
        relaxation, path = None, state.find_path(one.requirement) if one.requirement else ""
        if one.requirement is not None and path not in fixed_paths:
            if one.release is not None:
                relaxation = _relax(one.requirement, one.release)
            elif one.is_build:
                relaxation = drop_build(one.requirement)
        if relaxation is not None:
            relaxed.append(RelaxedRequirement(relaxation, path, one.reason))
            checks += [one.check] if one.check else []
        elif one.check and (one.requirement is None or one.release is None):
            checks.append(one.check)
            unsure.append(one.reason)
        else:
            left.append(one)
    found = tuple(dict.fromkeys(checks))
    if inquiry is None:
        return Settlement(tuple(relaxed), found, tuple(unsure), tuple(left))
    newest = inquiry.find_newest_torch() if inquiry.answer.resolves is False and left else ""
    return Settlement(tuple(relaxed), found, tuple(unsure), tuple(left), inquiry.text, newest_torch=newest)


def _relax(requirement: Reference, release: str) -> Relaxation | None:
    """Return the relaxation of a requirement, or of a Python."""
    if requirement.sort is not Sort.PYTHON:
        return relax_requirement(requirement, release)
    raised = raise_python(requirement, int(release.removeprefix("3.")))
    if raised is None:
        return None
    edit, new = raised
    label = {"": "requires-python ", "poetry": "python ", "FROM": ""}.get(
        requirement.option, requirement.name
    )
    return Relaxation(requirement, (edit,), f"{label}{requirement.text}", f"{label}{new}")
