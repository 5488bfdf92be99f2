"""One finding for all files of a run that could not be read because the grammars of their languages are not installed."""

from __future__ import annotations

from collections.abc import Mapping

from torchmigrate.foreign.grammars import describe_unread
from torchmigrate.model.findings import FileResult
from torchmigrate.prefilter.foreign_languages import language_of

CODE = "ER600"


def is_unread(result: FileResult) -> bool:
    """Return whether the result reports that the file could not be read."""
    return any(finding.code == CODE for finding in result.findings)


def merge_unread(results: Mapping[str, FileResult]) -> dict[str, FileResult]:
    """Return the results of files that could not be read, with one finding, at the first file, that counts all of them."""
    message = describe_unread(language_of(result.path) or "" for result in results.values())
    made: dict[str, FileResult] = {}
    for place, result in results.items():
        findings = [finding for finding in result.findings if finding.code != CODE or not made]
        findings = [
            finding._replace(message=message) if finding.code == CODE else finding for finding in findings
        ]
        made[place] = result._replace(findings=tuple(findings))
    return made
