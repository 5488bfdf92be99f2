"""What changed between two surveys: `torchmigrate survey --compare OLD NEW`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from torchmigrate.survey.tables import iterate_lines

_Key = tuple[str, str, str, str]
"""The identity of a finding that other lines do not change: repository, rule, path and message."""


def compare_surveys(old: str, new: str) -> Iterator[str]:
    """Yield the lines of a table: what was resolved in each repository, what is new there, and what is left.

    ``old`` and ``new`` are the folders of two surveys. Raises OSError and ValueError for one without results.
    """
    before, after = _count_findings(old), _count_findings(new)
    listed_before, listed_after = _list_repositories(old), _list_repositories(new)
    gone, come = _count_by_repository(before - after), _count_by_repository(after - before)
    left = _count_by_repository(after)
    yield "repository\tresolved\tnew\tleft"
    for name in sorted(listed_before | listed_after):
        if name not in listed_after:
            yield f"{name}\t-\t-\tno longer surveyed"
        elif name not in listed_before:
            yield f"{name}\t-\t-\t{left[name]} (surveyed for the first time)"
        elif gone[name] or come[name]:
            yield f"{name}\t{gone[name]}\t{come[name]}\t{left[name]}"
    both = listed_before & listed_after
    resolved, fresh = (sum(counted[name] for name in both) for counted in (gone, come))
    yield f"total\t{resolved}\t{fresh}\t{sum(left.values())}"


def _count_findings(folder: str) -> Counter[_Key]:
    rows = iterate_lines(folder, "findings")
    return Counter((row["repository"], row["code"], row["path"], row["message"]) for row in rows)


def _list_repositories(folder: str) -> set[str]:
    """Return the repositories that could be checked."""
    return {row["repository"] for row in iterate_lines(folder, "repositories") if not row["failure"]}


def _count_by_repository(findings: Counter[_Key]) -> Counter[str]:
    counted: Counter[str] = Counter()
    for (repository, *_), number in findings.items():
        counted[repository] += number
    return counted
