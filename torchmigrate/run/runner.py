"""Many files: read, scanned, linked with each other, and reported in the order they were given."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

from torchmigrate.engine import registry
from torchmigrate.gates.screen import Screen
from torchmigrate.model.faults import fault
from torchmigrate.model.findings import Edit, FileError, FileResult, Finding, Span
from torchmigrate.model.versions import render
from torchmigrate.model.vocabulary import Safety
from torchmigrate.project.files import Input, read
from torchmigrate.project.project import Imported, Project
from torchmigrate.proof.offsets import Shift
from torchmigrate.run.cache import Cache, digest
from torchmigrate.run.fingerprint import fingerprint
from torchmigrate.run.garbage import Paused
from torchmigrate.run.joint import FixResult, joints, settled, together
from torchmigrate.run.known import Known, Memory
from torchmigrate.run.profiles import Profile
from torchmigrate.run.snapshot import Snapshot, Stamps
from torchmigrate.run.tree import Tree
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


def check(
    tree: Tree, *, cache: Cache | None = None, progress: Progress | None = None
) -> Iterator[FileResult]:
    """The findings of each file that was named, in order; those of which there is nothing to say may be left out."""
    run = Run(tree, cache)
    snapshot = Snapshot(run.cache, run.context, tree.named, run.stamps) if run.cache.keeps else None
    kept = snapshot.load() if snapshot is not None else None
    if kept is not None:
        yield from kept
        return
    run.scan(progress)
    if snapshot is not None and run.is_lasting:
        snapshot.store(Results(run.packed[place] for place in run.named if place in run.packed))
    for place in run.named:
        yield run.result(place)


def fix(
    tree: Tree,
    *,
    choose: Callable[[Finding], bool] | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> Iterator[FixResult]:
    """Each file that was named fixed, in order; nothing is written. ``choose`` is asked about every fix.

    What rules say of one file depends on the others (whether any of them still scripts), so the project is scanned
    and fixed again until nothing changes: a second run would find nothing to do.
    """
    choice = Choice(choose)
    results: dict[str, FixResult] = {}
    known: Known | None = None
    for _ in range(MAX_PASSES):
        run = Run(tree, cache, known)
        run.scan(progress)
        progress = None  # the passes to come are shorter, and not foreseen
        choice.begin()
        fresh = together(run.named, partial(run.fixed, choose=choice))
        results = {place: _joined(results.get(place), fixed) for place, fixed in fresh.items()}
        changed = {place: fixed.after for place, fixed in fresh.items() if fixed.applied}
        if not changed:
            break
        known = run.known
        files = [replace(file, data=changed.get(file.place, file.data)) for file in tree.named]
        tree = replace(tree, named=files)
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
        self._begun: dict[str, dict[tuple[str, Span | None], bool]] = {}
        """The same for the files as the pass has met them."""
        self._unmoved: set[str] = set()

    def begin(self) -> None:
        """A pass over all files begins."""
        self._begun = {}

    def meet(self, path: str) -> None:
        """The file is as the pass has met it, for the first time or once again."""
        begun = self._begun.setdefault(path, dict(self._answers.get(path, {})))
        self._answers[path] = dict(begun)
        self._unmoved.add(path)

    def __call__(self, finding: Finding) -> bool:
        """Whether to apply the fix of a finding."""
        if self._choose is None:
            return True
        answers = self._answers.setdefault(finding.path, {})
        key = (finding.code, finding.span)
        if key not in answers:
            answers[key] = self._choose(finding)
            if finding.path in self._unmoved:
                self._begun[finding.path][key] = answers[key]
        return answers[key]

    def moved(self, path: str, text: bytes, edits: list[Edit], applied: Sequence[Finding]) -> None:
        """Takes note that ``edits`` were made in the ``text`` of a file, for the findings ``applied``."""
        answers = self._answers.get(path)
        self._unmoved.discard(path)
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


def screen(settings: Collection[Settings], cache: Cache) -> Screen:
    """Gate 1 for the rules that any of the ``settings`` select. Raises ConfigError for a selector that fits no rule."""
    key = digest(b"screen", fingerprint(), *sorted(map(_selection, settings)))
    if key not in _screens:
        made = cache.get(key, Screen)
        if made is None:  # else the selectors fitted when it was made
            for one in settings:
                registry.check_selectors(one, registry.rules().values())
            made = Screen.of(_selected(settings).values())
            cache.put(key, made)
        _screens[key] = made
    return _screens[key]


def _choice(settings: Settings) -> bytes:
    """What of the settings says which rules run."""
    return repr((settings.select, settings.ignore, settings.extend_select)).encode()


def _selection(settings: Settings) -> bytes:
    """What of the settings has to name rules."""
    return _choice(settings) + repr((settings.per_file_ignores, settings.show)).encode()


def _selected(settings: Collection[Settings]) -> dict[str, Rule]:
    """The rules that any of the settings select, by code."""
    return {code: rule for one in settings for code, rule in registry.selected(one).items()}


class Look(NamedTuple):
    """What looking at a file gave: nothing, if gate 1 turned it away."""

    scan: Scan | None
    key: bytes | None = None
    """Where to keep it, if it can be kept and is not yet."""
    failed: bool = False
    """Whether the file could not be looked at, which may go better the next time."""


class Run:
    """One run over a tree: what each file gave, and the project that they make."""

    def __init__(self, tree: Tree, cache: Cache | None = None, known: Known | None = None) -> None:
        named = {file.place: file for file in tree.named}
        others = {file.place: file for file in tree.others if file.place not in named}
        self.named = list(named)
        self.files = dict(sorted({**others, **named}.items()))
        """By place, in an order that does not depend on what was named."""
        folders = dict.fromkeys(os.path.dirname(place) for place in named)
        self.profiles = {folder: tree.profile_of(folder) for folder in folders}
        """What holds for the named files, by their folders."""
        self.cache = cache or Cache(None)
        reading = partial(_read_of, self.files)
        self.project = Project(self.files, reading, is_whole=tree.is_whole, root=tree.root)
        self.packed: dict[str, bytes] = {}
        """What each file gave, if anything, for `torchmigrate.run.wire` to unpack."""
        self.failed = False
        """Whether a file could not be looked at, which may go better the next time."""
        self._asked_elsewhere = False
        """Whether a rule has looked into files that have no stamps."""
        self._joining: set[str] = set()
        """The named files with parts of joint fixes."""
        self.known = known
        """What is known of the tree: at first by an earlier run, then by this one."""
        self._root = tree.root
        self._garbage = Paused()
        self._scanned = 0

    @property
    def is_lasting(self) -> bool:
        """Whether the results hold as long as the files have these stamps."""
        return not (self.failed or self._asked_elsewhere)

    @cached_property
    def stamps(self) -> Stamps:
        """The states of the files; to be asked for before any is read."""
        return Stamps(self.files.values())

    def profile_of(self, place: str) -> Profile:
        """What holds for the file at ``place``; for one that was not named, any will do: what it tells is the same."""
        profile = self.profiles.get(os.path.dirname(place))
        return profile or next(iter(self.profiles.values()))

    @cached_property
    def _settings(self) -> list[Settings]:
        return list(dict.fromkeys(profile.settings for profile in self.profiles.values()))

    @cached_property
    def telling(self) -> bytes:
        """What it depends on which facts a file tells, besides its content."""
        return digest(fingerprint(), *sorted({_choice(settings) for settings in self._settings}))

    @cached_property
    def context(self) -> bytes:
        """What the results depend on besides the files."""
        profiles = (
            f"{folder}\0".encode(errors="surrogateescape") + self.context_of(profile)
            for folder, profile in self.profiles.items()
        )
        return digest(self.telling, b"whole" if self.project.is_whole else b"", *profiles)

    def context_of(self, profile: Profile) -> bytes:
        """What the result of a file depends on to which ``profile`` applies, besides its content."""
        if profile not in self._contexts:
            settings = profile.settings
            edits = b"edits" if settings.wants_edits else b""
            minimum = render(profile.minimum.version).encode()
            self._contexts[profile] = digest(self.telling, minimum, settings.decisive(), edits)
        return self._contexts[profile]

    @cached_property
    def _contexts(self) -> dict[Profile, bytes]:
        return {}

    @cached_property
    def screen(self) -> Screen:
        """Gate 1."""
        return screen(self._settings, self.cache)

    @cached_property
    def _engines(self) -> dict[Profile, Engine]:
        return {}

    def engine_of(self, place: str) -> Engine:
        """Applies the rules to the file at ``place``. All engines watch and note the same: what any profile asks about."""
        profile = self.profile_of(place)
        if profile not in self._engines:
            from torchmigrate.engine.engine import Engine
            from torchmigrate.engine.ruleset import RuleSet

            rules = RuleSet(
                self._rules.values(),
                _options(profile),
                partial(self._selects, profile.settings),
                partial(self._covers, profile.settings),
                self.screen.gate,
            )
            self._engines[profile] = Engine(rules, edits=profile.settings.wants_edits)
        return self._engines[profile]

    @cached_property
    def _rules(self) -> Mapping[str, Rule]:
        return _selected(self._settings)

    def _selects(self, settings: Settings, code: str, path: str) -> bool:
        rule = self._rules.get(code)
        return (
            rule is not None
            and settings.selects(code, rule.family, rule.default)
            and not settings.ignored_in(path, code, rule.family)
        )

    def _covers(self, settings: Settings, codes: str, path: str) -> bool:
        """Whether every rule runs whose code begins with ``codes`` (for "": every rule that is on by default)."""
        rules = [rule for rule in registry.rules().values() if rule.code.startswith(codes)]
        return all(self._selects(settings, rule.code, path) for rule in rules if codes or rule.default)

    def result(self, path: str) -> FileResult:
        """What the file gave."""
        packed = self.packed.get(path)
        return FileResult(self.files[path].path) if packed is None else unpack(FileResult, packed)

    def _keep(self, path: str, result: FileResult) -> None:
        self._joining.discard(path)
        if path in self._reported and result.says_anything:
            self.packed[path] = pack(result)
            if joints(result.findings):
                self._joining.add(path)
        else:
            self.packed.pop(path, None)

    @cached_property
    def _reported(self) -> frozenset[str]:
        return frozenset(self.named)

    def fixed(self, path: str, left_out: Collection[str], choose: Choice) -> FixResult:
        """The file with its fixes applied, but for the joint ones that are ``left_out``."""
        from torchmigrate.engine.fixing import Wanted
        from torchmigrate.text.source import SourceError

        result = self.result(path)
        applies = partial(_applies, self.profile_of(path).settings, left_out=left_out)
        choose.meet(result.path)
        if not any(applies(finding) for finding in result.findings):
            return FixResult(result.path, b"", b"", (), result)
        try:
            data = _read(self.files[path])
            moved = partial(choose.moved, result.path)
            wanted = Wanted(applies, choose, lambda name: self._keeps(path, name), moved)
            links = self.project.links(path)
            fixed = self.engine_of(path).fix(result.path, data, self.project, links, wanted)
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

    def _keeps(self, path: str, name: str) -> bool:
        """Whether another file may import ``name`` from the one at ``path``."""
        unseen = not self.project.is_whole and not self.profile_of(path).settings.unsafe_fixes
        return unseen or self._imported.has(path, name)

    def scan(self, progress: Progress | None) -> None:
        """Scans every file that passes gate 1, and again those that the others turn out to matter to."""
        with self._garbage:
            self._scan_all(progress)

    def _scan_all(self, progress: Progress | None) -> None:
        memory = Memory(self.cache, self.telling, self._root) if self._root else None
        known = self.known or (memory.load(self.files) if memory is not None else None) or Known()
        changed = known.changed(self.stamps)
        fresh = [path for path in self.files if path in changed or path in self._reported]
        facts = self._first_looks(fresh, progress)
        if known.holds(facts, changed, self.stamps):
            self.project.exports = dict(known.exports)
            facts |= known.without(fresh, self.stamps)
            fresh += sorted(known.concerned(self.stamps) - set(fresh))
        else:
            facts |= self._first_looks([path for path in self.files if path not in set(fresh)], progress)
            fresh = list(self.files)
        facts = {path: facts[path] for path in self.files if path in facts}
        if self.project.exports or any(path in facts for path in fresh):
            self._link(facts, fresh)
        for told in facts.values():
            self.project.mention(told.mentions)
        provisional = [path for path in self.named if path in facts and facts[path].provisional]
        for path, look in self._looks(provisional, first=False):
            self.failed = self.failed or look.failed
            if look.scan is not None:
                self._asked_elsewhere |= look.scan.facts.asked_elsewhere
                self._keep(path, look.scan.result)
        self._settle()
        self.known = Known(self.stamps.by_place, facts, self.project.exports)
        if memory is not None and not self.failed and self.known.stamps != known.stamps:
            memory.store(self.known)
        if progress is not None:
            progress(len(self.files), len(self.files))

    def _settle(self) -> None:
        """Withholds the joint fixes that lack a part."""
        parts = [self.result(place) for place in self._joining]
        paths = {path for one in parts for joint in joints(one.findings).values() for path in joint.paths}
        places = {self.files[place].path: place for place in self.named if self.files[place].path in paths}
        for path, result in settled({path: self.result(place) for path, place in places.items()}).items():
            self._keep(places[path], result)

    def _first_looks(self, paths: list[str], progress: Progress | None) -> dict[str, Facts]:
        """What files tell while nothing is known of the others."""
        facts: dict[str, Facts] = {}
        for done, (path, look) in enumerate(self._looks(paths, first=True)):
            if progress is not None:
                progress(done, len(paths))
            self.failed = self.failed or look.failed
            if look.scan is not None:
                facts[path] = look.scan.facts
                self._keep(path, look.scan.result)
                if look.key is not None:
                    self.cache.put(look.key, look.scan)
        return facts

    def _looks(self, paths: list[str], *, first: bool) -> Iterator[tuple[str, Look]]:
        """What each file gives with what is known of the project; ``first``: while nothing is.

        In processes of their own from where on it is worthwhile for what is left; then in no particular order.
        """
        hits = 0 if first else _PRIOR
        for done, path in enumerate(paths):
            share = hits / (done + _PRIOR)
            if self._jobs != 1 and (len(paths) - done) * (1 + 7 * share) >= WORTHWHILE:
                yield from self._shared(paths[done:], first=first)
                return
            before = self._scanned
            yield path, self.look(path, self.files[path], first=first)
            hits += self._scanned - before

    @property
    def _jobs(self) -> int:
        return next(iter(self._settings)).jobs

    def _shared(self, paths: list[str], *, first: bool) -> Iterator[tuple[str, Look]]:
        from torchmigrate.run import workers

        self.engine_of(paths[0])  # what it imports, processes that are forked need not
        self.cache.release()  # a connection must not live on in two processes
        count = workers.processes(self._jobs)
        folder = self.cache.folder if first else None
        make = partial(_looker, self.profiles, self.project, folder)
        items = [(path, self.files[path].path, self.files[path].data) for path in paths]
        for (path, *_), sent in workers.map_all(make, items, count):
            yield (
                path,
                _failed(self.files[path], _DIED) if isinstance(sent, workers.Died) else _received(*sent),
            )

    def look(self, path: str, file: Input, *, first: bool) -> Look:
        """What a file gives with what is known of the project; ``first``: while nothing is, so that it can be kept."""
        try:
            data = _read(file)
        except OSError as error:
            return _failed(file, f"cannot be read: {error.strerror or error}")
        if not self.screen.concerns(file.path, data):
            return Look(None)
        key = self._key(path, file, data) if first and self.cache.keeps else None
        if key is not None:
            from torchmigrate.engine.engine import Scan

            kept = self.cache.get(key, Scan)
            if kept is not None:
                return Look(kept)
        return Look(self._scan(path, file, data), key)

    def _key(self, path: str, file: Input, data: bytes) -> bytes:
        context = self.context_of(self.profile_of(path))
        return digest(b"look", context, os.fsencode(path), os.fsencode(file.path), data)

    def _link(self, facts: dict[str, Facts], fresh: Sequence[str]) -> None:
        """Follows names from file to file; only from those that are ``fresh`` there may be any to follow."""
        from torchmigrate.project.exports import Linker

        def look(path: str, data: bytes) -> Facts:
            scan = self._scan(path, self.files[path], data)
            self._keep(path, scan.result)
            return scan.facts

        reading = partial(_read_of, self.files)
        watch = self.engine_of(fresh[0] if fresh else "").rules.watch
        Linker(list(self.files), reading, look, facts, self.project, watch).link(fresh)

    def _scan(self, path: str, file: Input, data: bytes) -> Scan:
        self._scanned += 1
        self._garbage.tick(len(data))
        return self.engine_of(path).scan(file.path, data, self.project, self.project.links(path))


def _applies(settings: Settings, finding: Finding, left_out: Collection[str]) -> bool:
    allowed = (Safety.SAFE, Safety.UNSAFE) if settings.unsafe_fixes else (Safety.SAFE,)
    fix = finding.fix
    is_left_out = fix is not None and fix.joint is not None and fix.joint.name in left_out
    return fix is not None and fix.safety in allowed and not is_left_out


def _options(profile: Profile) -> Options:
    from torchmigrate.model.options import Options

    settings = profile.settings
    return Options(
        settings.target_version,
        profile.minimum.version,
        settings.device_agnostic,
        settings.script_replacement,
        settings.keep_torchscript_support,
        settings.gpu_architectures,
    )


def _read(file: Input) -> bytes:
    if file.data is not None:
        return file.data
    return read(file.path)


_Item = tuple[str, str, bytes | None]
"""What is sent to a worker process: the absolute path, and the parts of an `Input`."""

_Sent = tuple[bytes | None, bytes | None, bool]
"""What it sends back: a `Look`, of which the scan is packed."""


def _looker(profiles: dict[str, Profile], project: Project, folder: str | None) -> Callable[[_Item], _Sent]:
    """The work of a worker process: a run of its own, with what is known of the project, or of the cache in a folder."""
    run = Run(Tree((), profiles.__getitem__), Cache(folder))
    run.profiles = profiles
    run.project = project
    run._garbage.__enter__()

    def look(item: _Item) -> _Sent:
        path, shown, data = item
        scan, key, failed = run.look(path, Input(shown, data), first=folder is not None)
        return None if scan is None else pack(scan), key, failed

    return look


def _received(scan: bytes | None, key: bytes | None, failed: bool) -> Look:
    from torchmigrate.engine.engine import Scan

    return Look(None if scan is None else unpack(Scan, scan), key, failed)


def _failed(file: Input, message: str) -> Look:
    from torchmigrate.engine.engine import Scan

    return Look(Scan(FileResult(file.path, errors=(FileError(file.path, message),))), failed=True)


def _read_of(files: Mapping[str, Input], path: str) -> bytes:
    return _read(files[path])
