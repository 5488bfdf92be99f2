"""Fixes over several files: whether every file has its part, and that all of the parts are made, or none.

The parts find each other by their `Joint`, plain data in what each file gave.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from torchmigrate.model.findings import FileResult, Finding, Joint


@dataclass(frozen=True, slots=True)
class FixResult:
    """What fixing makes of one file; ``before`` and ``after`` are its whole content."""

    path: str
    before: bytes
    after: bytes
    applied: tuple[Finding, ...]
    result: FileResult
    """What remains after fixing."""

    def then(self, later: FixResult) -> FixResult:
        """What this pass over the file and a ``later`` one come to."""
        if not self.applied:
            return later
        after = later.after if later.applied else self.after
        return replace(later, before=self.before, after=after, applied=self.applied + later.applied)


def joints(findings: Iterable[Finding]) -> dict[str, Joint]:
    """The joint fixes that findings have a part of, by name."""
    found = (finding.fix.joint for finding in findings if finding.fix is not None)
    return {joint.name: joint for joint in found if joint is not None}


def settled(results: Mapping[str, FileResult]) -> dict[str, FileResult]:
    """Those results of which a joint fix lacks a part: without it, and with the reason.

    ``results`` are those of the named files that are to have a part, by path.
    """
    parts = {path: joints(result.findings) for path, result in results.items()}
    changed: dict[str, FileResult] = {}
    for joint in {name: joint for found in parts.values() for name, joint in found.items()}.values():
        if reason := _missing(joint, results, parts):
            for path in joint.paths:
                if path in results:
                    changed[path] = without(changed.get(path, results[path]), {joint.name}, reason)
    return changed


def _missing(
    joint: Joint, results: Mapping[str, FileResult], parts: Mapping[str, Collection[str]]
) -> str | None:
    """Why not every file has its part of a joint fix, or None."""
    for path in joint.paths:
        if path not in results:
            return f"{path} has to change with it, and was not named"
        if joint.name not in parts[path]:
            return f"{path} has to change with it, and has no fix there"
    return None


def without(result: FileResult, names: Collection[str], reason: str) -> FileResult:
    """The result without the parts of joint fixes."""
    findings = tuple(
        replace(finding, fix=None, withheld=reason)
        if finding.fix is not None and finding.fix.joint is not None and finding.fix.joint.name in names
        else finding
        for finding in result.findings
    )
    return replace(result, findings=findings)


def together(places: Iterable[str], fix: Callable[[str, Collection[str]], FixResult]) -> dict[str, FixResult]:
    """Each file fixed by ``fix``, which leaves out the joint fixes that it is given the names of.

    Those are the ones of which another file has not made its part: it was declined there, or could not be proved.
    """
    left_out: set[str] = set()
    fixed = {place: fix(place, left_out) for place in places}
    while halves := _halves(fixed.values()):
        left_out |= halves
        for place, one in fixed.items():
            if halves & joints(one.applied).keys():
                fixed[place] = fix(place, left_out)
    reason = "another file has to change with it, and its part could not be made"
    return {place: replace(one, result=without(one.result, left_out, reason)) for place, one in fixed.items()}


def _halves(fixed: Iterable[FixResult]) -> set[str]:
    """The joint fixes that were made in some of their files only."""
    made: dict[str, set[str]] = {}
    known: dict[str, Joint] = {}
    for one in fixed:
        for name, joint in joints(one.applied).items():
            known[name] = joint
            made.setdefault(name, set()).add(one.path)
    return {name for name, paths in made.items() if not paths.issuperset(known[name].paths)}


def units(fixed: Iterable[FixResult]) -> Iterator[list[FixResult]]:
    """The files in groups that have to be written together; those that stand alone come first, as they arrive."""
    groups: list[tuple[set[str], list[FixResult]]] = []
    for one in fixed:
        names = set(joints(one.applied))
        if not names:
            yield [one]
            continue
        files = [one]
        for group in [group for group in groups if group[0] & names]:
            groups.remove(group)
            names |= group[0]
            files[-1:-1] = group[1]
        groups.append((names, files))
    for _, files in groups:
        yield files
