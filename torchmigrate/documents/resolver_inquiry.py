"""The inquiry of a resolver about an environment: before its move, after it, and with more freedom where that fails."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchmigrate.documents import package_fit, resolver
from torchmigrate.documents.blocker import Blocker
from torchmigrate.documents.environment_blockers import find_blockers
from torchmigrate.documents.package_fit import FAMILY
from torchmigrate.documents.proposed_state import ProposedState
from torchmigrate.documents.python_versions import find_possible_minors
from torchmigrate.documents.references import VersionStyle
from torchmigrate.documents.resolver_changes import find_misfits, list_changed
from torchmigrate.documents.resolver_process import ResolverAnswer
from torchmigrate.documents.resolver_questions import (
    ResolverNotApplicable,
    ResolverQuestion,
    create_question,
    find_name,
)
from torchmigrate.documents.upgrade_rules import TORCH_NAMES, find_cuda_tag
from torchmigrate.documents.version_clauses import parse_clauses
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables import build_selection, package_requirements


class Inquiry:
    """What a resolver says about an environment before and after its move."""

    def __init__(self, state: ProposedState, own_names: frozenset[str]) -> None:
        self._state = replace(state, resolves=True)
        self._own_names = own_names
        self._references = [one for unit in state.environment.units for one in unit.references]
        self._references += [one for neighbour in state.originals for one in neighbour.references]
        self._requirements = [one for one in self._references if one.sort is Sort.REQUIREMENT]
        self._blockers = find_blockers(self._state)
        self._python = self._state.oldest_python
        self._held = dict.fromkeys((*FAMILY, *state.replaced), "") | state.releases
        self._preferred: list[str] = []
        self.before = self.answer = ResolverAnswer(None, "")
        try:
            self._ask()
        except ResolverNotApplicable as reason:
            self.answer = ResolverAnswer(None, f"no resolver can check this: {reason}")

    def _ask(self) -> None:
        self.before = self._ask_before()
        if self.before.resolves is None:
            self.answer = self.before
            return
        bounded = {one.name for one in self._requirements if any(c.is_upper for c in parse_clauses(one))}
        # What pip builds from source today is built again, with the same pin.
        self._held |= dict.fromkeys((*self._list_sources(), *self.before.contradicted), "")
        self._preferred = [f"{name}=={release}" for name, release in self.before.versions if name in bounded]
        fitting = {
            one.requirement.name: one.release
            for one in self._blockers
            if one.requirement and one.release and one.requirement.sort is Sort.REQUIREMENT
        }
        lines = [f"{name}>={release}" for name, release in fitting.items()]
        self.answer = self._ask_after(self._held, lines)
        if self.answer.resolves is False and not self._state.stated_pythons:
            self._ask_about_newer_pythons(lines)
        if self.answer.resolves is False and fitting:
            self._ask_about_any_release(set(fitting))
        elif list_changed(self.answer, self._requirements).keys() - fitting:
            self._ask_about_kept_pins(lines, set(fitting))
            self._ask_about_nearest_releases(lines, set(fitting))

    def _list_sources(self) -> Iterator[str]:
        """Yield the packages that pip builds from source, today and afterwards.

        Their pinned release has no wheel for older Pythons either, or there is only one Python, and it stays.
        """
        left_out = self.before.left_out
        if self._keeps_python():
            yield from left_out
            return
        pins = {
            f"{one.name}=={clause.public_version}": one.name
            for one in self._requirements
            if one.name in left_out
            for clause in parse_clauses(one)
            if clause.is_exact
        }
        had = {pins[pin] for pin in resolver.list_with_older_wheels(pins)}
        yield from (name for name in left_out if name not in had)

    def _keeps_python(self) -> bool:
        """Return whether the environment states one Python, which stays."""
        known = find_possible_minors(self._state.stated_pythons, (_PYTHONS_OF_OLD_TORCH[0], self._python))
        return bool(self._state.stated_pythons) and known == {int(self._python[2:])}

    def _ask_about_newer_pythons(self, lines: list[str]) -> None:
        """Ask about the next two Pythons, where nothing says which one is used."""
        first, newest = self._python, int(self._state.python_range[1][2:])
        for minor in range(int(first[2:]) + 1, min(int(first[2:]) + 2, newest) + 1):
            self._python = f"3.{minor}"
            answer = self._ask_after(self._held, lines)
            if answer.resolves:
                self.answer = answer
                return
        self._python = first

    def _ask_about_kept_pins(self, lines: list[str], names: set[str]) -> None:
        """Ask which other pins and bounds can stay: a resolver that only prefers them gives some up without need."""
        question = self._create_question(self._held, lines)
        kept = tuple(line for line in self._list_bounds(question) if find_name(line) not in names)
        answer = resolver.ask_resolver(replace(question, kept=kept))
        if answer.resolves:
            self.answer = answer

    def _list_bounds(self, question: ResolverQuestion) -> tuple[str, ...]:
        """Return the pins of a question, and the requirements with upper bounds, which its lines lack."""
        bounded = create_question(
            self._references, self._own_names, self._python, held=self._held, bounded=True
        )
        return (*question.preferred, *(line for line in bounded.lines if line not in question.lines))

    def _ask_about_nearest_releases(self, lines: list[str], names: set[str]) -> None:
        """Ask whether the releases next to the pins fit too: the newest ones are made for newer code and newer packages."""
        changed = list_changed(self.answer, self._requirements).keys() - names
        question = self._create_question(self._held, lines)
        pins = [pin for pin in question.preferred if find_name(pin) not in names]
        asked = [pin.replace("==", ">=") for pin in pins if find_name(pin) in changed]
        asked += [f"{name}=={release}" for name, release in self._held.items() if release]
        oldest = resolver.find_oldest(tuple(sorted(asked)), self._python) if changed else ()
        nearest = {name: release for name, release in oldest if name in changed}
        if not nearest:
            return
        near = tuple(
            f"{name}=={nearest[name]}" if (name := find_name(pin)) in nearest else pin for pin in pins
        )
        others = (pin for pin in question.preferred if find_name(pin) in names)
        free = {*map(find_name, pins), *changed, *names}
        bounds = (line for line in self._list_bounds(question) if find_name(line) not in free)
        answer = resolver.ask_resolver(replace(question, preferred=(*near, *others), kept=(*near, *bounds)))
        if answer.resolves and list_changed(answer, self._requirements).keys() <= changed | names:
            self.answer = answer

    def _ask_about_any_release(self, names: set[str]) -> None:
        """Ask which releases of some packages fit together, since the newest one of each does not fit that of another."""
        preferred = [line for line in self._preferred if line.partition("==")[0] not in names]
        self._preferred, kept = preferred, self._preferred
        answer = self._ask_after(self._held, [])
        found = dict(answer.versions)
        if answer.resolves and not any(self._is_refused(name, found.get(name, "")) for name in names):
            self.answer = answer
        else:
            self._preferred = kept

    def _is_refused(self, name: str, release: str) -> bool:
        """Return whether a release is known not to fit the new torch or its CUDA."""
        reason = package_requirements.explain_refusal(name, release, self._state.releases["torch"])
        return reason.startswith("it requires torch") or bool(
            package_fit.explain_conflict(name, release, self._state.question)
        )

    def _ask_before(self) -> ResolverAnswer:
        """Ask about the environment as it is, with a Python that its torch has wheels for."""
        family = {
            one.name: clause.public_version
            for one in self._requirements
            if one.name in FAMILY and one.style is not VersionStyle.CONDA
            for clause in parse_clauses(one)
            if clause.is_exact
        }
        # torch's build on another index requires other libraries than the one that the resolver sees.
        held = dict.fromkeys(self._state.replaced, "") | family
        question = create_question(
            self._references, self._own_names, self._find_present_python(), held=held, bounded=True
        )
        return resolver.ask_resolver(
            replace(question, kept=question.preferred, ignored=self._find_ignored()),
            keeps_sources=True,
            drops=True,
        )

    def _find_ignored(self) -> tuple[str, ...]:
        """Return the libraries that torch requires only in its build on the default index, if that is not the one here."""
        return ("cuda-toolkit",) if any(map(find_cuda_tag, self._references)) else ()

    def _find_present_python(self) -> str:
        """Return the Python that the environment has today: the new one if its torch has wheels for that."""
        minors = [
            c.minor_version
            for one in self._requirements
            if one.name in TORCH_NAMES
            for c in parse_clauses(one)
        ]
        known = next(
            (r for minor in minors if minor and (r := build_selection.find_python_range(minor))), None
        )
        oldest, newest = known or (self._state.chosen.python if not any(minors) else _PYTHONS_OF_OLD_TORCH)
        stated = [one for one in self._references if one.sort is Sort.PYTHON]
        every = find_possible_minors(stated, (oldest, newest)) or set(
            range(int(oldest[2:]), int(newest[2:]) + 1)
        )
        wanted = int(self._python[2:])
        if any(one.sort is Sort.IMAGE and one.name == "pytorch/pytorch" for one in self._references):
            # The images of older torches have older Pythons.
            every = {minor for minor in every if minor < wanted} or every
        return self._python if wanted in every else f"3.{max(every)}"

    def _ask_after(self, held: dict[str, str], fitting: list[str]) -> ResolverAnswer:
        return resolver.ask_resolver(self._create_question(held, fitting))

    def _create_question(self, held: dict[str, str], fitting: list[str]) -> ResolverQuestion:
        question = create_question(
            self._references, self._own_names, self._python, held=held, preferred=self._preferred
        )
        # Of all newer releases the one that the tables know to fit.
        known = {find_name(line): line.replace(">=", "==") for line in fitting if not line.endswith("=")}
        pins = (known.get(find_name(pin), pin) for pin in question.preferred)
        return replace(
            question, lines=(*question.lines, *fitting), preferred=tuple(pins), ignored=self.before.ignored
        )

    def find_newest_torch(self) -> str:
        """Return the newest minor version of torch with which the requirements resolve; empty if there is none."""
        target = self._state.releases["torch"]
        held = dict.fromkeys(self._held, "")
        answer = self._ask_after(held, [f"torch<{target}"])
        found = dict(answer.versions).get("torch", "") if answer.resolves else ""
        return ".".join(found.split(".")[:2])

    @property
    def text(self) -> str:
        """The answer, as a clause."""
        if self._is_old_conflict():
            return f"{self.answer.text}; {_OLD_CONFLICT}"
        return self.answer.text

    def _is_old_conflict(self) -> bool:
        return self.answer.resolves is False and self.before.resolves is False

    def list_blockers(self) -> list[Blocker]:
        """Return the blockers that the tables know, with the releases that the resolver chose, and those that it found."""
        chosen = list_changed(self.answer, self._requirements)
        known = [self._take_release(one, chosen) for one in self._blockers]
        # What was left out may be there nevertheless, in any release, since something else requires it.
        before = list_changed(self.before, self._requirements).keys() - {*self.before.left_out}
        changed = {name: release for name, release in chosen.items() if name not in before}
        told = {id(one.requirement) for one in known if one.requirement}
        found = [
            Blocker(
                f"blocked by `{one.shown}`: it does not fit together with torch {self._state.releases['torch']} and the rest",
                one,
                changed[one.name],
            )
            for one in self._requirements
            if one.name in changed and id(one) not in told and one.name not in self._held
        ]
        found += find_misfits(
            (*self.before.contradicted, *before),
            [one for one in self._references if id(one) not in told],
            self._own_names,
            self._python,
            self._state.releases["torch"],
        )
        if self.answer.resolves is False and not self._is_old_conflict():
            found.insert(0, Blocker(self.answer.text))
        unknown = [
            Blocker(
                f"{name} has no wheel",
                check=f"{name}: it has no wheel, so that no resolver was asked about it",
            )
            for name in self._list_unasked()
        ]
        first = self._state.oldest_python
        if self._python != first and self.answer.resolves:
            said = f"no releases fit together for Python {first}, but they do for {self._python}"
            unknown.append(Blocker(said, check=f"Python: {said}"))
        return [*known, *found, *unknown]

    def list_old_conflicts(self) -> tuple[str, ...]:
        """Return why the environment did not resolve before the move either."""
        reason = self.before.text if self._is_old_conflict() else self.before.conflict
        return (f"{reason}; {_OLD_CONFLICT}",) if reason else ()

    def _take_release(self, one: Blocker, changed: dict[str, str]) -> Blocker:
        """Return a blocker with the release that the resolver chose; without one if that is the pinned release."""
        name = one.requirement.name if one.requirement else ""
        if one.release is None or self.answer.resolves is not True:
            return one
        stays = name in dict(self.answer.versions) or name in (*self.answer.left_out, *self.before.left_out)
        return replace(one, release=changed.get(name, None if stays and one.check else one.release))

    def _list_unasked(self) -> Iterator[str]:
        """Yield the packages without a wheel that did not have to be left out before the move."""
        yield from (name for name in self.answer.left_out if name not in self.before.left_out)


_OLD_CONFLICT = "it could not before the move either"

_PYTHONS_OF_OLD_TORCH = ("3.8", "3.11")
"""The Pythons of torch 1.13 that uv can be asked about, for releases that the tables lack."""
