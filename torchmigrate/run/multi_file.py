"""Multi-file fixes: every file has to have its part, and either all parts are made or none.

The parts refer to each other by their `MultiFileFix`, plain data in the finding of each file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from torchmigrate.model.findings import FileResult, Finding, MultiFileFix


@dataclass(frozen=True, slots=True)
class FixResult:
    """The result of fixing one file; ``before`` and ``after`` are its whole content."""

    path: str
    before: bytes
    after: bytes
    applied: tuple[Finding, ...]
    result: FileResult
    """The findings that remain after fixing."""

    def merge_later(self, later: FixResult) -> FixResult:
        """Return the combined result of this pass over the file and a ``later`` one."""
        if not self.applied:
            return later
        after = later.after if later.applied else self.after
        return replace(later, before=self.before, after=after, applied=self.applied + later.applied)


def collect_multi_file_fixes(findings: Iterable[Finding]) -> dict[str, MultiFileFix]:
    """Return the multi-file fixes that findings have a part of, by name."""
    found = (finding.fix.joint for finding in findings if finding.fix is not None)
    return {joint.name: joint for joint in found if joint is not None}


def block_incomplete(results: Mapping[str, FileResult]) -> dict[str, FileResult]:
    """Return those results that lose a multi-file fix because another file lacks its part, with the reason.

    ``results`` are those of the named files that are to have a part, by path.
    """
    parts = {path: collect_multi_file_fixes(result.findings) for path, result in results.items()}
    changed: dict[str, FileResult] = {}
    for joint in {name: joint for found in parts.values() for name, joint in found.items()}.values():
        if reason := _explain_missing(joint, results, parts):
            for path in joint.paths:
                if path in results:
                    changed[path] = remove_parts(changed.get(path, results[path]), {joint.name}, reason)
    return changed


def _explain_missing(
    joint: MultiFileFix, results: Mapping[str, FileResult], parts: Mapping[str, Collection[str]]
) -> str | None:
    """Return why not every file has its part of a multi-file fix, or None."""
    for path in joint.paths:
        if path not in results:
            return f"{path} has to change together with this file, but is not among the files to fix"
        if joint.name not in parts[path]:
            why = (
                "has no fix for its part; see its finding"
                if results[path].findings
                else "no selected rule reports anything there; select more rules, or change both by hand"
            )
            return f"{path} has to change together with this file, but {why}"
    return None


def remove_parts(result: FileResult, names: Collection[str], reason: str) -> FileResult:
    """Return the result without the parts of the named multi-file fixes, with the reason."""
    findings = tuple(
        finding._replace(fix=None, withheld=reason)
        if finding.fix is not None and finding.fix.joint is not None and finding.fix.joint.name in names
        else finding
        for finding in result.findings
    )
    return result._replace(findings=findings)


def fix_together(
    places: Iterable[str], fix: Callable[[str, Collection[str]], FixResult]
) -> dict[str, FixResult]:
    """Fix each file by ``fix``, repeating it without the multi-file fixes whose part in another file was not made.

    A part is not made if it was declined, or if the edit could not be verified.
    """
    left_out: set[str] = set()
    fixed = {place: fix(place, left_out) for place in places}
    while halves := _find_incomplete(fixed.values()):
        left_out |= halves
        for place, one in fixed.items():
            if halves & collect_multi_file_fixes(one.applied).keys():
                fixed[place] = fix(place, left_out)
    reason = "another file has to change together with this one, and could not be changed"
    return {
        place: replace(one, result=remove_parts(one.result, left_out, reason)) for place, one in fixed.items()
    }


def _find_incomplete(fixed: Iterable[FixResult]) -> set[str]:
    """Return the names of the multi-file fixes that were made in some of their files only."""
    made: dict[str, set[str]] = {}
    known: dict[str, MultiFileFix] = {}
    for one in fixed:
        for name, joint in collect_multi_file_fixes(one.applied).items():
            known[name] = joint
            made.setdefault(name, set()).add(one.path)
    return {name for name, paths in made.items() if not paths.issuperset(known[name].paths)}


def group_for_writing(fixed: Iterable[FixResult]) -> Iterator[list[FixResult]]:
    """Yield groups of files that have to be written together; files that stand alone come first, as they arrive."""
    groups: list[tuple[set[str], list[FixResult]]] = []
    for one in fixed:
        names = set(collect_multi_file_fixes(one.applied))
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
