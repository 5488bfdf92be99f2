"""The records of the results, described by `torchmigrate/survey/survey.schema.json`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torchmigrate.model.rule import Rule
from torchmigrate.survey.order import Order
from torchmigrate.survey.store import Kept

Record = dict[str, Any]


def create_repository_record(kept: Kept, order: Order) -> Record:
    """Return the record of one repository."""
    result = kept.result
    plan = result.get("plan", {})
    return {
        "repository": kept.name,
        "location": kept.location,
        "commit": result.get("commit") or None,
        "state": kept.state or None,
        "failure": kept.error or None,
        "owners": result.get("owners", []),
        "packages": result.get("packages", []),
        "requires": result.get("requires", []),
        "torch": result.get("torch", []),
        "min_version": plan.get("min_version"),
        "min_version_source": plan.get("min_version_source"),
        "target_version": plan.get("target_version"),
        "allows_target": _allows_target(result.get("torch", ()), plan.get("target_version")),
        "works_until": _find_last_working(plan),
        "files": plan.get("files", 0),
        "unread_files": len(plan.get("errors", ())),
        "suppressed": plan.get("suppressed", 0),
        **{name: plan.get("findings", {}).get(name, 0) for name in ("error", "warning", "info")},
        **{
            _key(name): plan.get("efforts", {}).get(name, 0)
            for name in ("mechanical", "review", "decide", "redo artifact")
        },
        "wave": order.waves.get(kept.name) if plan else None,
        "waits_for": list(order.waits_for.get(kept.name, ())),
        "needed_by": list(order.needed_by.get(kept.name, ())),
        "commits": result.get("commits", 0),
        "patch": kept.patch or None,
        "patch_error": result.get("patch_error") or None,
    }


def _key(effort: str) -> str:
    return effort.replace(" ", "_")


def _allows_target(specifiers: Iterable[str], target: str | None) -> bool | None:
    """Return whether one of several specifiers allows the target; None if there is none in the syntax of PEP 440."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    found = []
    for text in specifiers if target else ():
        with contextlib.suppress(InvalidSpecifier):
            found.append(SpecifierSet(text).contains(f"{target}.0"))
    return any(found) if found else None


def _find_last_working(plan: Mapping[str, Any]) -> str | None:
    """Return the newest release before the first at which something breaks; None if that is the oldest supported one."""
    last = None
    for release in plan.get("releases", ()):
        if release["findings"]["error"]:
            break
        last = release["version"]
    return last


def iterate_finding_records(kept: Kept, rules: Mapping[str, Rule]) -> Iterator[Record]:
    """Yield the records of the findings in one repository, in the order of its plan."""
    for step in kept.result.get("plan", {}).get("steps", ()):
        for group in step["rules"]:
            rule = rules.get(group["code"])
            for finding in group["findings"]:
                yield {
                    "repository": kept.name,
                    "code": group["code"],
                    "rule": group["name"],
                    "family": rule.family if rule else "",
                    "stage": step["stage"],
                    **{name: finding[name] for name in _TAKEN},
                    "warns_in": _find_first(finding["releases"], "warning"),
                    "breaks_in": _find_first(finding["releases"], "error"),
                }


_TAKEN = [
    "severity",
    "effort",
    "path",
    "cell",
    "line",
    "column",
    "message",
    "hint",
    "fix",
    "fix_needs",
    "withheld",
    "owners",
]
"""The fields that a plan's findings have under the same name."""


def _find_first(releases: Mapping[str, str], severity: str) -> str | None:
    return next((version for version, found in releases.items() if found == severity), None)


def iterate_release_records(kept: Kept) -> Iterator[Record]:
    """Yield the number of findings of each rule at each release that the repository supports or is upgraded to."""
    for release in kept.result.get("plan", {}).get("releases", ()):
        for code, numbers in release["rules"].items():
            for severity, number in numbers.items():
                yield {
                    "repository": kept.name,
                    "release": release["version"],
                    "code": code,
                    "severity": severity,
                    "findings": number,
                }
