"""Many files: read, scanned, linked with each other, and reported in the order they were given."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from torchmigrate import registry
from torchmigrate.config import Settings
from torchmigrate.context import Options
from torchmigrate.documents.kinds import kind_of
from torchmigrate.engine import Engine, Scan, is_document
from torchmigrate.files import SUFFIXES, Input
from torchmigrate.findings import FileError, FileResult, Finding
from torchmigrate.garbage import Paused
from torchmigrate.gate import spelled
from torchmigrate.project import Imported, Project, module_path
from torchmigrate.rule import Safety
from torchmigrate.source import Source, SourceError
from torchmigrate.uses import Uses
from torchmigrate.versions import Version

Progress = Callable[[int, int], None]

WORTHWHILE = 400
"""Files from which on starting processes costs less than it saves; of files that rules look into, an eighth."""

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


def wanted(settings: Settings) -> Callable[[str], bool]:
    """Tells by a path whether a selected rule looks into such a file: a Python module, or a project file."""
    selected = [r for r in registry.rules().values() if settings.selects(r.code, r.family, r.default)]
    python = any(not rule.references for rule in selected)
    documents = any(rule.references for rule in selected)
    return lambda path: (python and path.endswith(SUFFIXES)) or (documents and kind_of(path) is not None)


def check(
    files: Sequence[Input], settings: Settings, *, min_version: Version, progress: Progress | None = None
) -> Iterator[FileResult]:
    """The findings of each file, in order."""
    run = Run(files, settings, min_version)
    run.scan(progress)
    for path in run.files:
        yield run.result(path)


def fix(
    files: Sequence[Input],
    settings: Settings,
    *,
    min_version: Version,
    choose: Callable[[Finding], bool] | None = None,
    progress: Progress | None = None,
) -> Iterator[FixResult]:
    """Each file fixed, in order; nothing is written. ``choose`` is asked about every fix that may be applied.

    What rules say of one file depends on the others (whether any of them still scripts), so the project is scanned
    and fixed again until nothing changes: a second run would find nothing to do.
    """
    choice = Choice(choose)
    results: dict[str, FixResult] = {}
    for _ in range(MAX_PASSES):
        run = Run(files, settings, min_version)
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
        self._declined: set[tuple[str, str, tuple[str, ...]]] = set()

    def __call__(self, finding: Finding) -> bool:
        """Whether to apply the fix of a finding."""
        key = (finding.path, finding.code, finding.source_lines)
        if key in self._declined:
            return False
        if self._choose is None or self._choose(finding):
            return True
        self._declined.add(key)
        return False


class Run:
    """One run over a set of files: what each gave, and the project that they make."""

    def __init__(self, files: Sequence[Input], settings: Settings, min_version: Version) -> None:
        self.files = {os.path.abspath(file.path): file for file in files}
        self.settings = settings
        self._rules = {
            code: rule
            for code, rule in registry.rules().items()
            if settings.selects(code, rule.family, rule.default)
        }
        options = _options(settings, min_version)
        self.engine = Engine(self._rules.values(), options, self._selects, self._covers)
        self.project = Project(self.files, partial(_read_of, self.files))
        self.scans: dict[str, Scan] = {}
        self._garbage = Paused()
        self._opened: dict[str, set[str]] = {}

    def _selects(self, code: str, path: str) -> bool:
        rule = self._rules.get(code)
        return rule is not None and not self.settings.ignored_in(path, code, rule.family)

    def _covers(self, codes: str, path: str) -> bool:
        """Whether every rule runs whose code begins with ``codes`` (for "": every rule that is on by default)."""
        rules = [rule for rule in registry.rules().values() if rule.code.startswith(codes)]
        return all(self._selects(rule.code, path) for rule in rules if codes or rule.default)

    def result(self, path: str) -> FileResult:
        """What the file gave."""
        scan = self.scans.get(path)
        return scan.result if scan is not None else FileResult(self.files[path].path)

    def fixed(self, path: str, choose: Choice) -> FixResult:
        """The file with its fixes applied."""
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
                lambda finding: self._applies(finding) and choose(finding),
                lambda name: self._imported.has(path, name),
            )
        except (OSError, SourceError) as error:  # it was readable when it was scanned
            failure = FileError(result.path, f"changed while it was being looked at: {error}")
            return FixResult(result.path, b"", b"", (), FileResult(result.path, errors=(failure,)))
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
        found: dict[str, Scan] = {}
        for done, (path, scan) in enumerate(self._looks(list(self.files), WORTHWHILE)):
            if progress is not None:
                progress(done, len(self.files))
            if scan is not None:
                found[path] = scan
        self.scans = {path: found[path] for path in self.files if path in found}
        self._link()
        for scan in self.scans.values():
            self.project.mention(scan.mentions)
        provisional = [path for path, scan in self.scans.items() if scan.provisional]
        for path, scan in self._looks(provisional, WORTHWHILE // 8):
            if scan is not None:
                self.scans[path] = scan
        if progress is not None:
            progress(len(self.files), len(self.files))

    def _looks(self, paths: list[str], worthwhile: int) -> Iterator[tuple[str, Scan | None]]:
        """What each file gives with what is known of the project; None for one that gate 1 turns away.

        In processes of their own if there are ``worthwhile`` files or more; then in no particular order.
        """
        if len(paths) < worthwhile or self.settings.jobs == 1:
            for path in paths:
                yield path, self.look(path, self.files[path])
            return
        from torchmigrate import workers

        count = workers.processes(self.settings.jobs)
        make = partial(_looker, self.settings, self.engine.options.minimum, self.project)
        items = [(path, self.files[path]) for path in paths]
        for (path, file), scan in workers.map_all(make, items, count):
            yield path, _died(file) if isinstance(scan, workers.Died) else scan

    def look(self, path: str, file: Input) -> Scan | None:
        """What a file gives with what is known of the project; None if gate 1 turns it away."""
        try:
            data = _read(file)
        except OSError as error:
            return _unreadable(file, error)
        if not self.engine.concerns(file.path, data):
            return None
        self._garbage.tick(len(data))
        return self.engine.scan(file.path, data, self.project, self.project.links(path))

    def _scan(self, path: str, data: bytes) -> None:
        self._garbage.tick(len(data))
        links = self.project.links(path)
        self.scans[path] = self.engine.scan(self.files[path].path, data, self.project, links)

    def _rescan(self, path: str) -> None:
        with contextlib.suppress(OSError):  # what was readable a moment ago keeps its first result
            self._scan(path, _read(self.files[path]))

    def _link(self) -> None:
        """Follows what files export, until no file reaches anything new."""
        scanned = list(self.scans)
        while scanned:
            fresh = {path: names for path in scanned if (names := self._export(path))}
            waiting = self._open_unlinked(scanned)
            reached = self._reached(fresh) if fresh else set()
            scanned = sorted(waiting | reached)
            for path in scanned:
                self._rescan(path)

    def _export(self, path: str) -> dict[str, str]:
        """Publishes the names that hide a token; returns those that are new."""
        names = {n: t for n, t in self.scans[path].exports.items() if self.engine.watch.hides_token(t)}
        return names if self.project.export(path, names) else {}

    def _reached(self, fresh: Mapping[str, Mapping[str, str]]) -> set[str]:
        """The files that spell one of the exported names, and import from a module that exports it."""
        exported = {name for names in fresh.values() for name in names}
        imports = _imports({os.path.basename(module_path(path)) for path in fresh})
        reached = set()
        for path, file in self.files.items():
            if is_document(path):
                continue
            with contextlib.suppress(OSError):
                data = _read(file)
                if any(True for _ in spelled(exported, data)) and imports.search(data):
                    reached.add(path)
        return reached

    def _open_unlinked(self, scanned: Iterable[str]) -> set[str]:
        """Finds what the modules export that unlinked names come from; returns the files that this concerns."""
        concerned = set()
        for path in scanned:
            for name in self.scans[path].unlinked - self._opened.get(path, set()):
                self._opened.setdefault(path, set()).add(name)
                if self._open(path, name, depth=8):
                    concerned.add(path)
        return concerned

    def _open(self, importer: str, name: str, depth: int) -> bool:
        for path, attribute, _ in self.project.links(importer).places(name):
            if attribute in self.project.exports.get(path, {}):
                return True
            if depth == 0 or path not in self.files:
                continue
            try:
                source = Source.read(path, _read(self.files[path]))
                uses = Uses(source, self.engine.watch, self.project.links(path))
                for origin in uses.origins(attribute):
                    if not origin.startswith("torch") and self._open(path, origin, depth - 1):
                        uses = Uses(source, self.engine.watch, self.project.links(path))
                exports = uses.exports
            except (OSError, SourceError, RecursionError):
                continue
            target = exports.get(attribute) or _target(uses, attribute)
            if target is not None and self.project.export(path, {attribute: target}):
                return True
        return False


def _imports(modules: Iterable[str]) -> re.Pattern[bytes]:
    """Matches an import that names one of the modules, or takes a name from a package around the file."""
    one = b"|".join(re.escape(module).encode() for module in sorted(modules))
    return re.compile(
        rb"^[ \t]*(?:from\s+\.+\s*import\b|(?:from|import)\b(?:[^\n(]*\([^)]*|[^\n]*)(?<!\w)(?:"
        + one
        + rb")(?!\w))",
        re.MULTILINE,
    )


def _target(uses: Uses, name: str) -> str | None:
    """What a name stands for that a module has only through ``from … import *``."""
    resolved = uses.names.resolve_name(name, uses.scopes.module)
    return resolved.names[0] if resolved is not None and len(resolved.names) == 1 else None


def _options(settings: Settings, minimum: Version) -> Options:
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
    with open(file.path, "rb") as stream:
        return stream.read()


def _looker(
    settings: Settings, min_version: Version, project: Project
) -> Callable[[tuple[str, Input]], Scan | None]:
    """The work of a worker process: a run of its own, with what is known of the project."""
    run = Run([], settings, min_version)
    run.project = project
    run._garbage.__enter__()
    return lambda item: run.look(*item)


def _died(file: Input) -> Scan:
    message = "the process that looked at it died; it is not checked"
    return Scan(FileResult(file.path, errors=(FileError(file.path, message),)))


def _read_of(files: Mapping[str, Input], path: str) -> bytes:
    return _read(files[path])


def _unreadable(file: Input, error: OSError) -> Scan:
    message = f"cannot be read: {error.strerror or error}"
    return Scan(FileResult(file.path, errors=(FileError(file.path, message),)))
