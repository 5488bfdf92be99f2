"""Says once of a run what each file in another language would say by itself whose grammar is not installed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from torchmigrate.foreign.use import LANGUAGES
from torchmigrate.gates.languages import language_of
from torchmigrate.model.findings import FileResult

CODE = "ER600"


def is_unread(result: FileResult) -> bool:
    """Whether the result says that the file was not looked at."""
    return any(finding.code == CODE for finding in result.findings)


def gathered(results: Mapping[str, FileResult]) -> dict[str, FileResult]:
    """The results, all of which say so, with one finding in the place of all: the first one's, with their number."""
    languages = dict.fromkeys(LANGUAGES.get(language_of(one.path) or "", "") for one in results.values())
    said = f"{len(results)} {'file' if len(results) == 1 else 'files'} ({', '.join(languages)})"
    made: dict[str, FileResult] = {}
    for place, result in results.items():
        findings = [finding for finding in result.findings if finding.code != CODE or not made]
        findings = [
            replace(one, message=one.message.replace(f"1 file ({next(iter(languages))})", said))
            if one.code == CODE
            else one
            for one in findings
        ]
        made[place] = replace(result, findings=tuple(findings))
    return made
