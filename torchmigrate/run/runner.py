"""Many files: read, scanned, linked with each other, and reported in the order they were given."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.engine import registry
from torchmigrate.gates.screen import Screen
from torchmigrate.model.faults import fault
from torchmigrate.model.findings import Edit, FileError, FileResult, Finding, Span
from torchmigrate.model.versions import Version, render
from torchmigrate.model.vocabulary import Safety
from torchmigrate.project.files import Input, read
from torchmigrate.project.project import Imported, Project
from torchmigrate.proof.offsets import Shift
from torchmigrate.run.cache import Cache, digest
from torchmigrate.run.fingerprint import fingerprint
from torchmigrate.run.garbage import Paused
from torchmigrate.run.snapshot import Snapshot
from torchmigrate.run.wire import Results, pack, unpack
from torchmigrate.settings.settings import Settings

if TYPE_CHECKING:
    from torchmigrate.engine.engine import Engine, Scan
    from torchmigrate.model.options import Options
    from torchmigrate.model.rule import Rule
    from torchmigrate.project.mentions import Facts

Progress = Callable[[int, int], None]

WORTHWHILE = 400
"""Files from which on starting processes costs less than it saves; of files that rules look into, an eighth."""

_PRIOR = 8
"""The share of files that rules look into begins as if it had been seen in so many."""

_DIED = "the process that looked at it died; it is not checked"

MAX_PASSES = 10
"""Passes over a project after which fixing stops although it still changes."""


@dataclass(frozen=True, slots=True)
class FixResult:
    """What fixing makes of one file; ``before`` and ``after`` are its whole content."""

    path: str
    before: bytes
    after: bytes
    applied: tuple[Finding, ...]
    result: FileResult
    """What remains after fixing."""


def check(
    files: Sequence[Input],
    settings: Settings,
    *,
    min_version: Version,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> Iterator[FileResult]:
    """The findings of each file, in order; files of which there is nothing to say may be left out."""
    run = Run(files, settings, min_version, cache)
    snapshot = Snapshot(run.cache, run.context, files) if run.cache.keeps else None
    kept = snapshot.load() if snapshot is not None else None
    if kept is not None:
        yield from kept
        return
    run.scan(progress)
    if snapshot is not None and not run.failed:
        snapshot.store(Results(run.packed[path] for path in run.files if path in run.packed))
    for path in run.files:
        yield run.result(path)


def fix(
    files: Sequence[Input],
    settings: Settings,
    *,
    min_version: Version,
    choose: Callable[[Finding], bool] | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> Iterator[FixResult]:
    """Each file fixed, in order; nothing is written. ``choose`` is asked about every fix that may be applied.

    What rules say of one file depends on the others (whether any of them still scripts), so the project is scanned
    and fixed again until nothing changes: a second run would find nothing to do.
    """
    choice = Choice(choose)
    results: dict[str, FixResult] = {}
    for _ in range(MAX_PASSES):
        run = Run(files, settings, min_version, cache)
        run.scan(progress)
        progress = None  # the passes to come are shorter, and not foreseen
        fresh = {path: run.fixed(path, choice) for path in run.files}
        results = {path: _joined(results.get(path), fixed) for path, fixed in fresh.items()}
        changed = {path: fixed.after for path, fixed in fresh.items() if fixed.applied}
        if not changed:
            break
        files = [replace(file, data=changed.get(path, file.data)) for path, file in run.files.items()]
    yield from results.values()


def _joined(earlier: FixResult | None, later: FixResult) -> FixResult:
    """What two passes over a file come to."""
    if earlier is None or not earlier.applied:
        return later
    after = later.after if later.applied else earlier.after
    return replace(later, before=earlier.before, after=after, applied=earlier.applied + later.applied)


class Choice:
    """Asks about each fix once, however many rounds and passes it comes up in."""

    def __init__(self, choose: Callable[[Finding], bool] | None) -> None:
        self._choose = choose
        self._answers: dict[str, dict[tuple[str, Span | None], bool]] = {}
        """By path; a place is where the finding lies after all that has been fixed by now."""

    def __call__(self, finding: Finding) -> bool:
        """Whether to apply the fix of a finding."""
        if self._choose is None:
            return True
        answers = self._answers.setdefault(finding.path, {})
        key = (finding.code, finding.span)
        if key not in answers:
            answers[key] = self._choose(finding)
        return answers[key]

    def moved(self, path: str, text: bytes, edits: list[Edit], applied: Sequence[Finding]) -> None:
        """Takes note that ``edits`` were made in the ``text`` of a file, for the findings ``applied``."""
        answers = self._answers.get(path)
        if answers:
            shift = Shift(text, edits)
            done = {(finding.code, finding.span) for finding in applied}
            self._answers[path] = {
                (code, shift.moved(span)): answer
                for (code, span), answer in answers.items()
                if span is not None and (code, span) not in done
            }


_screens: dict[bytes, Screen] = {}
"""Those that were asked for, by key: compiling one takes longer than a small file, and processes that are forked have it."""


def screen(settings: Settings, cache: Cache) -> Screen:
    """Gate 1 for the rules that ``settings`` select. Raises ConfigError for a selector that fits no rule."""
    selection = (
        settings.select,
        settings.ignore,
        settings.extend_select,
        settings.per_file_ignores,
        settings.show,
    )
    key = digest(b"screen", fingerprint(), repr(selection).encode())
    if key not in _screens:
        made: Screen | None = cache.get(key)
        if made is None:  # else the selectors fitted when it was made
            registry.check_selectors(settings, registry.rules().values())
            made = Screen.of(registry.selected(settings).values())
            cache.put(key, made)
        _screens[key] = made
    return _screens[key]


class Look(NamedTuple):
    """What looking at a file gave: nothing, if gate 1 turned it away."""

    scan: Scan | None
    key: bytes | None = None
    """Where to keep it, if it can be kept and is not yet."""
    failed: bool = False
    """Whether the file could not be looked at, which may go better the next time."""


class Run:
    """One run over a set of files: what each gave, and the project that they make."""

    def __init__(
        self, files: Sequence[Input], settings: Settings, min_version: Version, cache: Cache | None = None
    ) -> None:
        self.files = {os.path.abspath(file.path): file for file in files}
        self.settings = settings
        self.minimum = min_version
        self.cache = cache or Cache(None)
        self.project = Project(self.files, partial(_read_of, self.files))
        self.packed: dict[str, bytes] = {}
        """What each file gave, if anything, for `torchmigrate.run.wire` to unpack."""
        self.failed = False
        """Whether a file could not be looked at, which may go better the next time."""
        self._garbage = Paused()
        self._scanned = 0

    @cached_property
    def context(self) -> bytes:
        """What the results depend on besides the files."""
        edits = b"edits" if self.settings.wants_edits else b""
        return digest(fingerprint(), render(self.minimum).encode(), self.settings.decisive(), edits)

    @cached_property
    def screen(self) -> Screen:
        """Gate 1."""
        return screen(self.settings, self.cache)

    @cached_property
    def engine(self) -> Engine:
        """Applies the rules."""
        from torchmigrate.engine.engine import Engine

        options = _options(self.settings, self.minimum)
        return Engine(
            self._rules.values(),
            options,
            self._selects,
            self._covers,
            self.screen.gate,
            edits=self.settings.wants_edits,
        )

    @cached_property
    def _rules(self) -> Mapping[str, Rule]:
        return registry.selected(self.settings)

    def _selects(self, code: str, path: str) -> bool:
        rule = self._rules.get(code)
        return rule is not None and not self.settings.ignored_in(path, code, rule.family)

    def _covers(self, codes: str, path: str) -> bool:
        """Whether every rule runs whose code begins with ``codes`` (for "": every rule that is on by default)."""
        rules = [rule for rule in registry.rules().values() if rule.code.startswith(codes)]
        return all(self._selects(rule.code, path) for rule in rules if codes or rule.default)

    def result(self, path: str) -> FileResult:
        """What the file gave."""
        packed = self.packed.get(path)
        result: FileResult = FileResult(self.files[path].path) if packed is None else unpack(packed)
        return result

    def _keep(self, path: str, result: FileResult) -> None:
        if result.says_anything:
            self.packed[path] = pack(result)
        else:
            self.packed.pop(path, None)

    def fixed(self, path: str, choose: Choice) -> FixResult:
        """The file with its fixes applied."""
        from torchmigrate.text.source import SourceError

        result = self.result(path)
        if not any(self._applies(finding) for finding in result.findings):
            return FixResult(result.path, b"", b"", (), result)
        try:
            data = _read(self.files[path])
            fixed = self.engine.fix(
                result.path,
                data,
                self.project,
                self.project.links(path),
                self._applies,
                choose,
                lambda name: self._imported.has(path, name),
                partial(choose.moved, result.path),
            )
        except (OSError, SourceError) as error:  # it was readable when it was scanned
            failure = FileError(result.path, f"changed while it was being looked at: {error}")
            return FixResult(result.path, b"", b"", (), FileResult(result.path, errors=(failure,)))
        except Exception as error:
            failure = fault(error, result.path)
            return FixResult(result.path, b"", b"", (), replace(result, errors=(*result.errors, failure)))
        return FixResult(result.path, data, fixed.data, fixed.applied, fixed.result)

    @cached_property
    def _imported(self) -> Imported:
        imported = Imported()
        for file in self.files.values():
            with contextlib.suppress(OSError):
                imported.read(_read(file))
        return imported

    def _applies(self, finding: Finding) -> bool:
        allowed = (Safety.SAFE, Safety.UNSAFE) if self.settings.unsafe_fixes else (Safety.SAFE,)
        return finding.fix is not None and finding.fix.safety in allowed

    def scan(self, progress: Progress | None) -> None:
        """Scans every file that passes gate 1, and again those that the others turn out to matter to."""
        with self._garbage:
            self._scan_all(progress)

    def _scan_all(self, progress: Progress | None) -> None:
        facts: dict[str, Facts] = {}
        for done, (path, look) in enumerate(self._looks(list(self.files), first=True)):
            if progress is not None:
                progress(done, len(self.files))
            self.failed = self.failed or look.failed
            if look.scan is not None:
                facts[path] = look.scan.facts
                self._keep(path, look.scan.result)
                if look.key is not None:
                    self.cache.put(look.key, look.scan)
        facts = {path: facts[path] for path in self.files if path in facts}
        if facts:
            self._link(facts)
        for told in facts.values():
            self.project.mention(told.mentions)
        provisional = [path for path, told in facts.items() if told.provisional]
        for path, look in self._looks(provisional, first=False):
            self.failed = self.failed or look.failed
            if look.scan is not None:
                self._keep(path, look.scan.result)
        if progress is not None:
            progress(len(self.files), len(self.files))

    def _looks(self, paths: list[str], *, first: bool) -> Iterator[tuple[str, Look]]:
        """What each file gives with what is known of the project; ``first``: while nothing is.

        In processes of their own from where on it is worthwhile for what is left; then in no particular order.
        """
        hits = 0 if first else _PRIOR
        for done, path in enumerate(paths):
            share = hits / (done + _PRIOR)
            if self.settings.jobs != 1 and (len(paths) - done) * (1 + 7 * share) >= WORTHWHILE:
                yield from self._shared(paths[done:], first=first)
                return
            before = self._scanned
            yield path, self.look(path, self.files[path], first=first)
            hits += self._scanned - before

    def _shared(self, paths: list[str], *, first: bool) -> Iterator[tuple[str, Look]]:
        from torchmigrate.run import workers

        self.engine  # noqa: B018 - what it imports, processes that are forked need not
        self.cache.release()  # a connection must not live on in two processes
        count = workers.processes(self.settings.jobs)
        folder = self.cache.folder if first else None
        make = partial(_looker, self.settings, self.minimum, self.project, folder)
        items = [(path, self.files[path]) for path in paths]
        for (path, file), look in workers.map_all(make, items, count):
            yield path, _failed(file, _DIED) if isinstance(look, workers.Died) else look

    def look(self, path: str, file: Input, *, first: bool) -> Look:
        """What a file gives with what is known of the project; ``first``: while nothing is, so that it can be kept."""
        try:
            data = _read(file)
        except OSError as error:
            return _failed(file, f"cannot be read: {error.strerror or error}")
        if not self.screen.concerns(file.path, data):
            return Look(None)
        key = self._key(path, file, data) if first and self.cache.keeps else None
        kept: Scan | None = self.cache.get(key) if key is not None else None
        if kept is not None:
            return Look(kept)
        return Look(self._scan(path, file, data), key)

    def _key(self, path: str, file: Input, data: bytes) -> bytes:
        return digest(b"look", self.context, os.fsencode(path), os.fsencode(file.path), data)

    def _link(self, facts: dict[str, Facts]) -> None:
        from torchmigrate.project.exports import Linker

        def look(path: str, data: bytes) -> Facts:
            scan = self._scan(path, self.files[path], data)
            self._keep(path, scan.result)
            return scan.facts

        reading = partial(_read_of, self.files)
        Linker(list(self.files), reading, look, facts, self.project, self.engine.watch).link()

    def _scan(self, path: str, file: Input, data: bytes) -> Scan:
        self._scanned += 1
        self._garbage.tick(len(data))
        return self.engine.scan(file.path, data, self.project, self.project.links(path))


def _options(settings: Settings, minimum: Version) -> Options:
    from torchmigrate.model.options import Options

    return Options(
        settings.target_version,
        minimum,
        settings.device_agnostic,
        settings.script_replacement,
        settings.keep_torchscript_support,
        settings.gpu_architectures,
    )


def _read(file: Input) -> bytes:
    if file.data is not None:
        return file.data
    return read(file.path)


def _looker(
    settings: Settings, min_version: Version, project: Project, folder: str | None
) -> Callable[[tuple[str, Input]], Look]:
    """The work of a worker process: a run of its own, with what is known of the project, or of the cache in a folder."""
    run = Run([], settings, min_version, Cache(folder))
    run.project = project
    run._garbage.__enter__()
    return lambda item: run.look(*item, first=folder is not None)


def _failed(file: Input, message: str) -> Look:
    from torchmigrate.engine.engine import Scan

    return Look(Scan(FileResult(file.path, errors=(FileError(file.path, message),))), failed=True)


def _read_of(files: Mapping[str, Input], path: str) -> bytes:
    return _read(files[path])
