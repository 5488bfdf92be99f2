"""What a resolver's answer changes in the requirements, and which of them do not even fit the new torch by themselves."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from packaging.version import InvalidVersion, Version

from torchmigrate.documents import resolver
from torchmigrate.documents.blocker import Blocker
from torchmigrate.documents.references import Reference, VersionStyle
from torchmigrate.documents.resolver_process import ResolverAnswer
from torchmigrate.documents.resolver_questions import ResolverQuestion, create_question
from torchmigrate.documents.version_clauses import parse_clauses
from torchmigrate.model.vocabulary import Sort
from torchmigrate.tables import package_requirements
from torchmigrate.tables.package_requirements import FAMILY


def list_changed(answer: ResolverAnswer, references: Sequence[Reference]) -> dict[str, str]:
    """Return the packages whose requirement does not admit the release in an answer, with that release.

    A release candidate is left out: a resolver takes one where the last release would have to be built. So is a placeholder
    such as nvidia-tensorrt 99.0.0, which only says that the package comes from elsewhere.
    """
    versions = {name: version for name, version in answer.versions if _is_release(version)}
    return {
        one.name: versions[one.name]
        for one in references
        if one.sort is Sort.REQUIREMENT
        and one.style is not VersionStyle.CONDA
        and one.name in versions
        and not all(
            clause.allows_any([versions[one.name]]) for clause in parse_clauses(one) if clause.is_upper
        )
    }


def _is_release(version: str) -> bool:
    try:
        parsed = Version(version)
    except InvalidVersion:
        return True
    return not parsed.is_prerelease and parsed.release[0] not in _PLACEHOLDERS


_PLACEHOLDERS = (99, 999, 9999)
"""First numbers of releases that hold a name."""


def find_misfits(
    names: Collection[str],
    references: Sequence[Reference],
    own_names: frozenset[str],
    python: str,
    torch: str,
) -> Iterator[Blocker]:
    """Yield the requirements among ``names`` that exclude a torch, each asked about without the rest of the environment.

    These contradicted others before the move already, so that the question about all of them does not tell.
    """
    indexes = [one for one in references if one.sort is Sort.INDEX]
    asked = {*names} - FAMILY
    for one in references:
        if one.sort is not Sort.REQUIREMENT or one.name not in asked or _is_known(one):
            continue
        everything = [*indexes, one]
        alone = _create_question(everything, own_names, python, dict.fromkeys(FAMILY, ""))
        # What cannot be installed without torch either has another reason, such as the Python.
        if resolver.ask_resolver(replace(alone, kept=())).resolves is not True:
            continue
        moved = resolver.ask_resolver(_create_question(everything, own_names, python, {"torch": torch}))
        changed = list_changed(moved, [one])
        if moved.resolves and (not changed or changed == list_changed(resolver.ask_resolver(alone), [one])):
            continue
        reason = moved.text if not moved.resolves else f"it does not fit together with torch {torch}"
        yield Blocker(f"blocked by `{one.shown}`: {reason}", one, changed.get(one.name))


def _is_known(one: Reference) -> bool:
    """Return whether the tables know what a requirement asks of torch."""
    exact = [clause.public_version for clause in parse_clauses(one) if clause.is_exact]
    return any(package_requirements.has_known_requirements(one.name, release) for release in exact)


def _create_question(
    references: Sequence[Reference], own_names: frozenset[str], python: str, held: dict[str, str]
) -> ResolverQuestion:
    question = create_question(references, own_names, python, held=held, bounded=True)
    return replace(question, kept=question.preferred)
