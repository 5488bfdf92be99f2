"""Asks uv or pip which releases an environment would get after its move, and before it.

Pins are only preferred, so that one question tells which of them cannot stay; what could not be installed before the
move either is not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from packaging.requirements import InvalidRequirement, Requirement

from torchmigrate.documents.resolver_process import ResolverAnswer, ask_once, is_uv, list_firm_pins
from torchmigrate.documents.resolver_questions import ResolverQuestion, find_name

_MOST_LEFT_OUT = 24
"""How many times something is left out of a question."""


def ask_resolver(
    question: ResolverQuestion, *, keeps_sources: bool = False, drops: bool = False
) -> ResolverAnswer:
    """Ask the resolver; what has no wheel at all, and pins in conflict that can be given up, are left out of the question.

    A pinned release without a wheel is given up as well, or left out if ``keeps_sources``. A package that fits the others
    in no release is left out if ``drops``.
    """
    left_out: list[str] = []
    contradicted: list[str] = []
    conflict = ""
    answer = ask_once(question)
    if further := _list_unreached(question, answer):
        question = replace(question, lines=tuple(line for line in question.lines if line not in further))
        answer = ask_once(question)
    for _ in range(_MOST_LEFT_OUT):
        if ignored := _find_source_only(question, answer):
            question = replace(question, ignored=(*question.ignored, ignored))
            answer = ask_once(question)
            continue
        missing = _list_without_wheels(question) if answer.left_out else []
        firm = set() if keeps_sources else set(map(find_name, list_firm_pins(question)))
        names = [name for name in missing or answer.left_out[:1] if name not in firm]
        smaller = _leave_out(question, names, answer.conflicting | {*missing})
        if smaller == question and drops and answer.blamed:
            contradicted.append(answer.blamed[0])
            smaller = _leave_out(question, answer.blamed[:1], frozenset())
        if smaller == question:
            break
        left_out += names
        conflict = conflict or ("" if answer.left_out or answer.unusable else answer.text)
        question = smaller
        answer = ask_once(question)
    return replace(
        answer,
        left_out=tuple(left_out),
        conflict=conflict,
        contradicted=tuple(contradicted),
        ignored=question.ignored,
    )


def _list_unreached(question: ResolverQuestion, answer: ResolverAnswer) -> list[str]:
    """Return the options for further indexes that cannot be reached: the others may know enough."""
    further = [line for line in question.lines if line.startswith("--extra-index-url ")]
    return [line for line in further if answer.unreached and f"/{answer.unreached}/" in f"{line}/"]


def _list_without_wheels(question: ResolverQuestion) -> list[str]:
    """Return the packages whose firm pin has no wheel, or that have none in any release; nothing from pip.

    A conflict names one of them at a time. Asked about each package by itself, uv only prefers the pins, and says so of all.
    """
    pins = {find_name(pin): pin for pin in question.kept if "==" in pin}
    lines = tuple(line for line in question.lines if find_name(line) in {*pins, ""})
    missing: list[str] = []
    while is_uv() and any(map(find_name, lines)):
        answer = ask_once(ResolverQuestion(lines, tuple(pins.values()), question.python, alone=True))
        if answer.resolves:
            others = (
                pins[name]
                for name, found in answer.versions
                if name in pins and not _admits(pins[name], found)
            )
            # What was yanked is not preferred, but pip installs it where it is pinned.
            gone = (
                one
                for one in others
                if not ask_once(ResolverQuestion((one,), (), question.python, alone=True)).resolves
            )
            return [*missing, *map(find_name, gone)]
        missing += answer.left_out
        left = tuple(line for line in lines if find_name(line) not in answer.left_out)
        lines = left if len(left) < len(lines) else ()
    return missing


def _find_source_only(question: ResolverQuestion, answer: ResolverAnswer) -> str:
    """Return a package that others require and that pip builds from source, whatever the Python; empty if there is none.

    Who requires it has installed it so, and keeps it: ``omegaconf==2.3.0`` has been built with antlr4-python3-runtime 4.9.
    """
    name = find_name(answer.unusable)
    asked = {find_name(line) for line in (*question.lines, *question.preferred, *question.kept)}
    is_new = answer.resolves is False and is_uv() and name not in {"", *asked, *question.ignored}
    return name if is_new and not list_with_older_wheels([answer.unusable]) else ""


def list_with_older_wheels(requirements: Iterable[str]) -> set[str]:
    """Return those requirements that have wheels for older Pythons: for newer ones they need a newer release then."""
    found: set[str] = set()
    for python in _OLDER_PYTHONS:
        if not is_uv():
            each = {one: ask_once(ResolverQuestion((one,), (), python)) for one in {*requirements} - found}
            found |= {one for one, answer in each.items() if answer.resolves is not False}
            continue
        left = tuple(sorted({*requirements} - found))
        oldest = _find_oldest_wheels(tuple(one.replace("==", ">=") for one in left), python)
        found |= {one for one in left if (name := find_name(one)) in oldest and _admits(one, oldest[name])}
    return found


def find_nearest_wheels(pins: Iterable[tuple[str, str]], python: str) -> dict[tuple[str, str], str]:
    """Return the oldest newer release with a wheel for a Python, of those pinned releases that have wheels for older Pythons only."""
    asked = {f"{name}=={release}": (name, release) for name, release in pins}
    oldest = _find_oldest_wheels(tuple(sorted(one.replace("==", ">=") for one in asked)), python)
    lacking = [one for one, (name, _) in asked.items() if name in oldest and not _admits(one, oldest[name])]
    return {asked[one]: oldest[asked[one][0]] for one in list_with_older_wheels(lacking)}


def _find_oldest_wheels(lines: tuple[str, ...], python: str) -> dict[str, str]:
    """Return the oldest release with a wheel for a Python that each line admits by itself; nothing from pip, which cannot say."""
    lines = tuple(line for line in lines if _is_valid(line))
    while lines and is_uv():
        answer = ask_once(ResolverQuestion(lines, (), python, lowest=True, alone=True))
        if answer.resolves:
            return dict(answer.versions)
        names = {*answer.left_out, *answer.blamed[:1]}
        left = tuple(line for line in lines if find_name(line) not in names)
        lines = left if len(left) < len(lines) else ()
    return {}


def _is_valid(requirement: str) -> bool:
    try:
        Requirement(requirement)
    except InvalidRequirement:
        return False  # a version of conda
    return True


def _admits(requirement: str, release: str) -> bool:
    """Return whether a requirement without extras and markers admits a release."""
    return Requirement(requirement).specifier.contains(release, prereleases=True)


def find_oldest(lines: tuple[str, ...], python: str) -> tuple[tuple[str, str], ...]:
    """Return the oldest releases that fit some lines together; nothing if there are none, or pip is asked, which cannot say."""
    return ask_once(ResolverQuestion(lines, (), python, lowest=True)).versions if is_uv() else ()


_OLDER_PYTHONS = ("3.9", "3.7")
"""The Pythons for which packages that are compiled have had wheels."""


def _leave_out(
    question: ResolverQuestion, names: Sequence[str], conflicting: frozenset[str]
) -> ResolverQuestion:
    """Return the question without some packages, and without the pins of others."""
    lines = tuple(line for line in question.lines if find_name(line) not in names)
    preferred, kept = (
        tuple(pin for pin in pins if find_name(pin) not in {*names, *conflicting})
        for pins in (question.preferred, question.kept)
    )
    return replace(question, lines=lines, preferred=preferred, kept=kept)
