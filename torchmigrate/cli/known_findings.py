"""The findings that a run leaves out: those in baselines, and those of an earlier revision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from torchmigrate.adoption import baseline
from torchmigrate.adoption.baseline import (
    Baseline,
    BaselineEntry,
    BaselineError,
    BaselineScope,
    MissingBaselineError,
)
from torchmigrate.cli import output
from torchmigrate.cli.options import Failure
from torchmigrate.engine import registry
from torchmigrate.model.findings import FileResult, Finding
from torchmigrate.project.file_search import InputFile
from torchmigrate.reporters.report import format_count
from torchmigrate.settings.settings import Settings

MAX_GONE = 10
"""How many obsolete entries are listed; the rest are only counted."""


class KnownFindings:
    """The known findings of one run. Raises Failure for an unreadable baseline, unless it is to be written."""

    def __init__(
        self,
        inputs: Sequence[InputFile],
        settings_of: Callable[[str], Settings],
        earlier: Baseline | None,
        *,
        writes: bool,
    ) -> None:
        self._settings_of = settings_of
        self._earlier = earlier
        self._writes = writes
        self._paths = {file.place: file.path for file in inputs}
        self._places = {file.path: file.place for file in inputs}
        self._files = sorted({one for path in self._places if (one := settings_of(path).baseline)})
        if writes and not self._files:
            raise Failure(
                "--write-baseline needs a file: pass --baseline FILE, or set `baseline` in the settings"
            )
        self._baselines = {file: self._read_baseline(file) for file in self._files}
        self._found: dict[str, list[Finding]] = {}
        self._failed: set[str] = set()

    def remove_known(self, result: FileResult) -> FileResult:
        """Return the result of a file without the known findings."""
        place = self._places.get(result.path)
        if place is None:
            return result
        if result.errors:
            self._failed.add(place)
        if self._earlier is not None:
            result = self._earlier.keep_new_findings(place, result)
        if self._writes:
            self._found.setdefault(place, []).extend(result.findings)
            return result._replace(findings=())
        held = self._baselines.get(self._settings_of(result.path).baseline)
        return result if held is None else held.keep_new_findings(place, result)

    def describe_obsolete(self) -> Iterator[str]:
        """Yield lines on entries that are no findings any more; to be called after all files are checked."""
        for file, held in self._baselines.items():
            entries = list(held.iter_gone(self._find_checked(file)))
            if entries:
                number = format_count(sum(number for *_, number in entries), "known finding")
                yield f"{file}: {number} no longer found; --write-baseline removes them"
                yield from (
                    f"  no longer found: {self._format_entry(*entry)}" for entry in entries[:MAX_GONE]
                )
                if entries[MAX_GONE:]:
                    yield f"  and {len(entries) - MAX_GONE} more"

    def write_baselines(self) -> Iterator[str]:
        """Write all findings into the baselines, and yield lines on what that changes. Raises Failure."""
        for file, held in self._baselines.items():
            looked = self._find_checked(file)
            found = {place: self._found.get(place, ()) for place in looked.places}
            made = held.rebuild_baseline(found, looked)
            before, after = _count_entries(held), _count_entries(made)
            with output.replace_file(file) as stream:
                stream.write(baseline.render_baseline(made, file))
            new, gone = (after - before).total(), (before - after).total()
            change = f"{new} added and {gone} removed" if new or gone else "unchanged"
            yield f"{file}: {format_count(len(made), 'finding')} known, {change}"
            if before and new:
                codes = Counter(entry.code for _, entry in (after - before).elements())
                yield "  new: " + ", ".join(f"{code} {number}" for code, number in sorted(codes.items()))

    def _read_baseline(self, file: str) -> Baseline:
        try:
            return baseline.read_baseline(file)
        except BaselineError as error:
            if self._writes and isinstance(error, MissingBaselineError):
                return Baseline()
            raise Failure(str(error)) from None

    def _find_checked(self, file: str) -> BaselineScope:
        mine = [place for path, place in self._places.items() if self._settings_of(path).baseline == file]
        return BaselineScope(frozenset(mine) - self._failed, self._is_selected)

    def _is_selected(self, code: str, place: str) -> bool:
        path = self._paths[place]
        settings, rule = self._settings_of(path), registry.load_rules().get(code)
        return rule is None or (
            settings.is_selected(code, rule.family, rule.default, rule.by_code)
            and not settings.is_ignored_in(path, code, rule.family)
        )

    def _format_entry(self, place: str, entry: BaselineEntry, number: int) -> str:
        times = f" ({number} times)" if number > 1 else ""
        return f"{self._paths.get(place, place)}: {entry.code}{times} {entry.text}"


def _count_entries(held: Baseline) -> Counter[tuple[str, BaselineEntry]]:
    return Counter(
        {(place, entry): number for place, some in held.entries.items() for entry, number in some.items()}
    )
