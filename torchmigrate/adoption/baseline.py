"""The baseline: a file of known findings, which a run leaves out to report only new ones.

A finding is known by its file, its rule and the code that it is about (`torchmigrate.model.finding_identity`), with a count;
lines may move. A finding that has become more severe, for instance with another target, is new. The file is JSON with
one entry a line, so that its changes can be read and merged:

    {"version": 1, "findings": {"pkg/a.py": [
      {"code": "TS101", "severity": "warning", "text": "f = torch.jit.script(g)", "count": 1}
    ]}}

Paths are relative to the folder of the file.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from torchmigrate.model.finding_identity import identify_finding
from torchmigrate.model.findings import FileResult, Finding
from torchmigrate.model.vocabulary import Severity
from torchmigrate.project.file_search import read_file

VERSION = 1


class BaselineEntry(NamedTuple):
    """Equal findings of one file; the first two fields are the same as in `FindingIdentity`."""

    code: str
    text: str
    severity: Severity

    @classmethod
    def from_finding(cls, finding: Finding) -> BaselineEntry:
        """Create the entry of a finding."""
        return cls(*identify_finding(finding), finding.severity)


class BaselineError(Exception):
    """Raised for a file that is no baseline, or cannot be read; the message names the file."""


class MissingBaselineError(BaselineError):
    """Raised for a baseline file that does not exist."""


@dataclass(frozen=True)
class BaselineScope:
    """The scope of a run: the checked files and wanted codes. Baseline entries outside of it stay unchanged."""

    places: Collection[str]
    """The places of the files that were checked."""
    wants: Callable[[str, str], bool]
    """Returns whether findings with a code are wanted in the file at a place."""

    def covers_code(self, place: str, code: str) -> bool:
        """Return whether findings with this code were looked for in the file; always true for a removed file."""
        return not os.path.lexists(place) or (place in self.places and self.wants(code, place))


class Baseline:
    """Known findings, by the absolute paths of their files."""

    def __init__(self, entries: Mapping[str, Counter[BaselineEntry]] | None = None) -> None:
        self.entries: dict[str, Counter[BaselineEntry]] = dict(entries or {})
        self._left = {place: Counter(held) for place, held in self.entries.items()}
        """The entries that no finding has matched yet."""
        self._moved: dict[str, str] = {}

    def add_findings(self, place: str, findings: Iterable[Finding]) -> None:
        """Add findings of the file at ``place`` as known."""
        for finding in findings:
            for held in (self.entries, self._left):
                held.setdefault(place, Counter())[BaselineEntry.from_finding(finding)] += 1

    def keep_new_findings(self, place: str, result: FileResult) -> FileResult:
        """Return the result of the file at ``place`` without known findings; each entry matches only once."""
        kept = [finding for finding in result.findings if not self._take_finding(place, finding, result)]
        return result._replace(findings=tuple(kept)) if len(kept) < len(result.findings) else result

    def iter_gone(self, looked: BaselineScope) -> Iterator[tuple[str, BaselineEntry, int]]:
        """Yield the entries that no finding matched, with their counts; call this after all files."""
        for place, held in sorted(self._left.items()):
            for one, number in sorted(held.items(), key=lambda item: _get_sort_key(item[0])):
                if number and looked.covers_code(place, one.code):
                    yield place, one, number

    def rebuild_baseline(self, found: Mapping[str, Iterable[Finding]], looked: BaselineScope) -> Baseline:
        """Return the baseline of the findings ``found``, with the entries of this one outside of the run's scope."""
        made = Baseline()
        for place, held in self.entries.items():
            kept = Counter(
                {one: number for one, number in held.items() if not looked.covers_code(place, one.code)}
            )
            if kept:
                made.entries[place] = kept
        for place, findings in found.items():
            made.add_findings(place, findings)
        return made

    def __len__(self) -> int:
        return sum(sum(held.values()) for held in self.entries.values())

    def _take_finding(self, place: str, finding: Finding, result: FileResult) -> bool:
        """Return whether an unused entry of at least the same severity covers the finding, and use the entry up."""
        held = self._left.get(self._find_entry_place(place, result))
        own = BaselineEntry.from_finding(finding)
        for severity in sorted(Severity, key=lambda severity: severity.rank)[own.severity.rank :]:
            entry = own._replace(severity=severity)
            if held and held[entry]:
                held[entry] -= 1
                return True
        return False

    def _find_entry_place(self, place: str, result: FileResult) -> str:
        """Return the place of a file's entries: its own, or the place of a removed file that was apparently renamed to it."""
        if place in self.entries:
            return place
        if place not in self._moved:
            mine = Counter(map(BaselineEntry.from_finding, result.findings))
            taken = set(self._moved.values())
            shared = {
                old: (self._left[old] & mine).total() for old in self._orphaned_places if old not in taken
            }
            best = max(shared, key=lambda old: shared[old], default="")
            self._moved[place] = best if shared.get(best) else ""
        return self._moved[place]

    @cached_property
    def _orphaned_places(self) -> list[str]:
        """The places of files that do not exist any more."""
        return [place for place in self.entries if not os.path.lexists(place)]


def read_baseline(path: str) -> Baseline:
    """Parse the baseline in the file at ``path``. Raises BaselineError."""
    try:
        document = json.loads(read_file(path))
    except FileNotFoundError:
        raise MissingBaselineError(
            f"{path}: there is no baseline; `torchmigrate check --write-baseline` creates one"
        ) from None
    except OSError as error:
        raise BaselineError(f"{path}: the baseline cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise BaselineError(f"{path}: this is not a baseline: {error}") from None
    try:
        if document["version"] != VERSION:
            raise BaselineError(
                f"{path}: the baseline is from another version of torchmigrate; write it again with `torchmigrate check --write-baseline`"
            )
        folder = os.path.dirname(os.path.realpath(path))
        files = document["findings"].items()
        places = ((os.path.normpath(os.path.join(folder, _require_text(name))), held) for name, held in files)
        return Baseline({place: _parse_entries(held) for place, held in places})
    except (KeyError, TypeError, AttributeError, ValueError):
        raise BaselineError(
            f"{path}: this is not a baseline; `torchmigrate check --write-baseline` creates one"
        ) from None


def _parse_entries(held: Iterable[Any]) -> Counter[BaselineEntry]:
    found: Counter[BaselineEntry] = Counter()
    for one in held:
        entry = BaselineEntry(
            _require_text(one["code"]), _require_text(one["text"]), Severity(one["severity"])
        )
        found[entry] += _require_count(one["count"])
    return found


def render_baseline(baseline: Baseline, path: str) -> str:
    """Render ``baseline`` as the text of the file at ``path``, to whose folder its paths are relative."""
    folder = os.path.dirname(os.path.realpath(path))
    named = {_get_relative_path(folder, place): held for place, held in baseline.entries.items()}
    files = []
    for name, held in sorted(named.items()):
        lines = ",\n".join(
            "      "
            + json.dumps(
                {"code": one.code, "severity": one.severity.value, "text": one.text, "count": number}
            )
            for one, number in sorted(held.items(), key=lambda item: _get_sort_key(item[0]))
        )
        files.append(f"    {json.dumps(name)}: [\n{lines}\n    ]")
    body = "{\n" + ",\n".join(files) + "\n  }" if files else "{}"
    return f'{{\n  "version": {VERSION},\n  "findings": {body}\n}}\n'


def _get_sort_key(entry: BaselineEntry) -> tuple[str, str, int]:
    return entry.code, entry.text, entry.severity.rank


def _get_relative_path(folder: str, place: str) -> str:
    try:
        return os.path.relpath(place, folder).replace(os.sep, "/")
    except ValueError:  # another drive
        return place


def _require_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _require_count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise TypeError
    return value
