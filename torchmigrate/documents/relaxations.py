"""Relaxations: how a pin or a bound is written so that it admits another release, in the form that it has."""

from __future__ import annotations

import re
from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from torchmigrate.documents.references import Reference, VersionStyle
from torchmigrate.documents.version_clauses import VersionClause, parse_clauses
from torchmigrate.model.findings import Edit


@dataclass(frozen=True, slots=True)
class Relaxation:
    """The edits that let a requirement admit another release; ``old`` and ``new`` are its text before and after."""

    requirement: Reference
    edits: tuple[Edit, ...]
    old: str
    new: str


def relax_requirement(requirement: Reference, release: str) -> Relaxation | None:
    """Return the relaxation that admits ``release``; empty stands for any newer one. None where it cannot be written."""
    if requirement.fixed or requirement.several or requirement.undecided or requirement.unit.fixed:
        return None
    edits: list[Edit] = []
    text, shift = requirement.text, 0
    for clause in parse_clauses(requirement):
        if not clause.is_upper or (release and clause.allows_any([release])):
            continue
        start, new = _rewrite_clause(requirement, clause, release)
        edit = requirement.value.create_edit(start, clause.end, new) if new else None
        if edit is None:
            return None
        edits.append(edit)
        text = text[: start + shift] + new + text[clause.end + shift :]
        shift += len(new) - (clause.end - start)
    if not edits:
        return None
    # The build of another release.
    if build := _BUILD.search(text) if requirement.style is VersionStyle.CONDA else None:
        start = requirement.text.rindex(build[0])
        if (edit := requirement.value.create_edit(start, len(requirement.text), "")) is None:
            return None
        edits.append(edit)
        text = text[: build.start()]
    return Relaxation(requirement, tuple(edits), requirement.shown, requirement.shown_name + text)


_BUILD = re.compile(r"(?<=[\w.])=[\w.]+\Z")
"""The build in a requirement of conda: ``=1.5.3=py38h06a4308_0``."""


def find_python_build(requirement: Reference) -> re.Match[str] | None:
    """Return the build for one Python that a requirement of conda names: ``=py310h06a4308_0``; its group is the minor version."""
    if requirement.style is not VersionStyle.CONDA:
        return None
    return re.search(r"(?<=[\w.])=[\w.]*?py3(?P<minor>\d{1,2})(?!\d)[\w.]*\Z", requirement.text)


def drop_build(requirement: Reference) -> Relaxation | None:
    """Return the relaxation of a requirement of conda to any build of its version; None where it cannot be written."""
    build = find_python_build(requirement)
    if build is None or requirement.fixed or requirement.several or requirement.unit.fixed:
        return None
    edit = requirement.value.create_edit(build.start(), build.end(), "")
    if edit is None:
        return None
    old = requirement.shown
    return Relaxation(requirement, (edit,), old, old.removesuffix(build[0]))


def _rewrite_clause(requirement: Reference, clause: VersionClause, release: str) -> tuple[int, str]:
    """Return where the new text of a clause begins, and that text; empty where there is none."""
    if release:
        return clause.start, _raise_bound(clause, release)
    replaced = {VersionStyle.PEP508: r"={2,3}|~=", VersionStyle.POETRY: r"={2}|~=|\^|~|(?<![<>!=])"}
    pattern = replaced.get(requirement.style)
    operator = re.search(rf"(?:{pattern})\s*$", requirement.text[: clause.start]) if pattern else None
    if operator is None or "*" in clause.version:
        return clause.start, ""
    gap = operator[0].lstrip("^~=")
    return operator.start(), f">={gap}{clause.public_version}"


def _raise_bound(clause: VersionClause, release: str) -> str:
    """Return the version to write in a clause so that it allows ``release``, as precise as the present one."""
    try:
        numbers = list(Version(release).release)
    except InvalidVersion:
        return ""
    public = clause.public_version
    parts = public.removesuffix(".*").split(".")
    if clause.operator == "<":
        while len(parts) > 1 and parts[-1] == "0":
            parts.pop()
        above = (numbers + [0] * len(parts))[: len(parts)]
        above[-1] += 1
        zeros = public.count(".") + 1 - len(above)
        return ".".join(map(str, [*above, *[0] * zeros]))
    if public.endswith(".*"):
        return ".".join(map(str, (numbers + [0] * len(parts))[: len(parts)])) + ".*"
    loose = clause.operator in ("~=", "~") or (clause.style is VersionStyle.CONDA and clause.operator == "=")
    if loose and len(parts) < len(numbers):
        return ".".join(map(str, numbers[: len(parts)]))
    return release
