"""The totals of a survey, by repository, rule, owner and release."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from torchmigrate.model.torch_versions import parse_version
from torchmigrate.survey.records import Record

NOBODY = "nobody"
"""The owner of what no pattern of a CODEOWNERS file matches."""


@dataclass(slots=True)
class FindingTotals:
    """The findings of one rule, family or owner."""

    family: str = ""
    """The family of a rule; "" for others."""
    repositories: set[str] = field(default_factory=set)
    severities: Counter[str] = field(default_factory=Counter)
    efforts: Counter[str] = field(default_factory=Counter)
    breaks_in: str = ""
    """The first release that breaks something."""

    def add_finding(self, finding: Record) -> None:
        """Count a finding."""
        self.repositories.add(finding["repository"])
        self.severities[finding["severity"]] += 1
        self.efforts[finding["effort"]] += 1
        breaks = finding["breaks_in"]
        if breaks and (not self.breaks_in or parse_version(breaks) < parse_version(self.breaks_in)):
            self.breaks_in = breaks


@dataclass(slots=True)
class Summary:
    """The totals of a survey, and a short row for each repository."""

    repositories: list[dict[str, Any]] = field(default_factory=list)
    rules: dict[str, FindingTotals] = field(default_factory=dict)
    families: dict[str, FindingTotals] = field(default_factory=dict)
    owners: dict[str, FindingTotals] = field(default_factory=dict)
    releases: dict[str, Counter[str]] = field(default_factory=dict)
    """By release the findings of each severity."""
    totals: Counter[str] = field(default_factory=Counter)
    targets: set[str] = field(default_factory=set)

    def add_repository(
        self, repository: Record, findings: Iterable[Record], releases: Iterable[Record]
    ) -> None:
        """Count a repository with its records."""
        rules: dict[str, Counter[str]] = {}
        owners: dict[str, None] = dict.fromkeys(repository["owners"])
        for finding in findings:
            rules.setdefault(finding["code"], Counter())[finding["severity"]] += 1
            self.rules.setdefault(finding["code"], FindingTotals(finding["family"])).add_finding(finding)
            self.families.setdefault(finding["family"], FindingTotals()).add_finding(finding)
            for owner in finding["owners"] or (NOBODY,):
                owners[owner] = None
                self.owners.setdefault(owner, FindingTotals()).add_finding(finding)
            self.totals[finding["severity"]] += 1
            self.totals[finding["effort"]] += 1
        for one in releases:
            self.releases.setdefault(one["release"], Counter())[one["severity"]] += one["findings"]
        self.totals["repositories"] += 1
        self.totals["failed"] += repository["failure"] is not None
        self.totals["files"] += repository["files"]
        if repository["target_version"]:
            self.targets.add(repository["target_version"])
        kept = (
            "repository",
            "failure",
            "min_version",
            "allows_target",
            "works_until",
            "error",
            "warning",
            "info",
            "mechanical",
        )
        more = ("review", "decide", "redo_artifact", "wave", "waits_for", "needed_by", "commits")
        row = {name: repository[name] for name in (*kept, *more)}
        self.repositories.append({**row, "owners": list(owners) or [NOBODY], "rules": rules})
