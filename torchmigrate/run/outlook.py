"""Per-version evaluation: the findings of each file at every release, and under higher minimum versions.

A file is parsed once, with all facts of its project; the rules are then evaluated for each pair of a target and a
minimum, which is cheap compared with parsing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from torchmigrate.engine.engine import Engine
from torchmigrate.engine.subject import Subject
from torchmigrate.gates.kinds import is_document
from torchmigrate.model.findings import FileResult, Finding, Span
from torchmigrate.model.versions import OLDEST, Version
from torchmigrate.model.vocabulary import Severity
from torchmigrate.project.files import Input
from torchmigrate.project.project import Project
from torchmigrate.run import sharing, workers
from torchmigrate.run.cache import Cache
from torchmigrate.run.engines import Engines
from torchmigrate.run.joint import joints
from torchmigrate.run.profiles import Profile
from torchmigrate.run.scanner import Progress, Scanner
from torchmigrate.run.tree import Tree
from torchmigrate.run.wire import pack, unpack
from torchmigrate.text.hunks import Hunk, hunks
from torchmigrate.text.source import SourceError


class Count(NamedTuple):
    """The number of findings of a rule with a severity in one file, evaluated at one release."""

    release: Version
    code: str
    severity: Severity
    number: int


class Chance(NamedTuple):
    """A fix that becomes available with a higher minimum."""

    minimum: Version
    """The lowest minimum that allows the fix."""
    finding: Finding
    """The same finding with the fix."""


@dataclass(frozen=True, slots=True)
class Prospect:
    """One finding at the target, and its evaluation at other versions."""

    finding: Finding
    course: tuple[tuple[Version, Severity], ...] = ()
    """The severity at each release that reports a finding at that place."""
    chance: Chance | None = None
    hunks: tuple[Hunk, ...] = ()
    """The lines that its fix, or the possible one, changes; empty if not requested."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The evaluation of one file."""

    result: FileResult
    """The result of `torchmigrate check`."""
    prospects: tuple[Prospect, ...] = ()
    """The findings of that result, each with its evaluation."""
    counts: tuple[Count, ...] = ()


def releases(minimum: Version, target: Version) -> list[Version]:
    """Return the releases of torch 2 from ``minimum`` to ``target``, both included."""
    return [(2, number) for number in range(max(minimum, OLDEST)[1], target[1] + 1)]


def outlooks(
    tree: Tree, *, edits: bool, cache: Cache | None = None, progress: Progress | None = None
) -> Iterator[Outlook]:
    """Yield the evaluation of each named file, in order; ``edits`` requests the changed lines of fixes."""
    scanner = Scanner(tree, cache)
    scanner.scan(progress)
    known = scanner.known
    told = known.facts if known is not None else {}
    files = {
        place: scanner.files[place]
        for place in scanner.named
        if place in told and (is_document(scanner.files[place].path) or told[place].mentions)
    }
    made = dict(_all(scanner, files, edits))
    found = {place: _completed(scanner.result(place), made.get(place)) for place in scanner.named}
    yield from _settled(list(found.values()))


def _all(scanner: Scanner, files: dict[str, Input], edits: bool) -> Iterator[tuple[str, Outlook]]:
    """Yield the evaluation of each file with its path, in several processes if there are many files."""
    make = partial(_work, scanner.engines.profiles, scanner.project, edits)
    items = [(place, file.path, file.data) for place, file in files.items()]
    jobs = scanner.engines.jobs
    if jobs != 1 and len(items) * 8 >= sharing.WORTHWHILE:
        scanner.cache.release()
        for (place, *_), sent in workers.map_all(make, items, workers.processes(jobs)):
            if isinstance(sent, bytes):
                yield place, unpack(Outlook, sent)
        return
    work = make()
    for item in items:
        if sent := work(item):
            yield item[0], unpack(Outlook, sent)


def _work(profiles: Mapping[str, Profile], project: Project, edits: bool) -> Callable[[sharing.Item], bytes]:
    """Return the work of a process: the packed evaluation of one file, or b"" if it cannot be read."""
    engines = Engines(profiles)

    def look(item: sharing.Item) -> bytes:
        place, shown, data = item
        engine = engines.of(place)
        try:
            subject = engine.open(shown, Input(shown, data).read(), project, project.links(place))
            made = _Judge(engine, subject, edits).outlook()
            subject.release()
        except (OSError, SourceError, RecursionError):
            return b""
        return pack(made)

    return look


class _Judge:
    """Evaluates one parsed file under several versions."""

    def __init__(self, engine: Engine, subject: Subject, edits: bool) -> None:
        self._engine = engine
        self._subject = subject
        self._edits = edits
        self._options = engine.rules.options

    def outlook(self) -> Outlook:
        """Return the evaluation of the file."""
        target, minimum = self._options.target, self._options.minimum
        courses: dict[_Key, list[tuple[Version, Severity]]] = {}
        counts: Counter[tuple[Version, str, Severity]] = Counter()
        now = self._at(target, minimum, edits=self._edits)
        for release in releases(minimum, target):
            result = now if release == target else self._at(release, minimum)
            for key, finding in _keyed(result.findings):
                courses.setdefault(key, []).append((release, finding.severity))
                counts[release, finding.code, finding.severity] += 1
        chances = self._chances(now)
        prospects = tuple(
            Prospect(
                finding,
                tuple(courses.get(key, ())),
                chances.get(key),
                self._hunks(chances[key].finding if key in chances else finding),
            )
            for key, finding in _keyed(now.findings)
        )
        return Outlook(now, prospects, tuple(Count(*key, number) for key, number in counts.items()))

    def _chances(self, now: FileResult) -> dict[_Key, Chance]:
        """Return the findings that have a fix only with a higher minimum, with the lowest one that is enough."""
        lacking = {key for key, finding in _keyed(now.findings) if finding.fix is None}
        target, minimum = self._options.target, self._options.minimum
        if not lacking or target == minimum:
            return {}
        able = _able(self._at(target, target), lacking)
        chances: dict[_Key, Chance] = {}
        for bound in releases(minimum, target) if able else ():
            if bound <= minimum:
                continue
            for key, finding in _able(self._at(target, bound, edits=self._edits), lacking).items():
                if key in able:
                    chances.setdefault(key, Chance(bound, finding))
            if chances.keys() == able.keys():
                break
        return chances

    def _at(self, target: Version, minimum: Version, *, edits: bool = False) -> FileResult:
        options = replace(self._options, target=target, minimum=minimum)
        return self._engine.judged(self._subject, options, edits=edits)

    def _hunks(self, finding: Finding) -> tuple[Hunk, ...]:
        if not self._edits or finding.fix is None:
            return ()
        return hunks(self._subject.source.text, finding.fix.edits)


_Key = tuple[str, Span | None, int]
"""The identity of a finding across evaluations: its rule, its span, and a number if there are several there."""


def _keyed(findings: Sequence[Finding]) -> Iterator[tuple[_Key, Finding]]:
    seen: Counter[tuple[str, Span | None]] = Counter()
    for finding in findings:
        place = (finding.code, finding.span)
        yield (*place, seen[place]), finding
        seen[place] += 1


def _able(result: FileResult, lacking: set[_Key]) -> dict[_Key, Finding]:
    return {key: finding for key, finding in _keyed(result.findings) if key in lacking and finding.fix}


def _completed(result: FileResult, outlook: Outlook | None) -> Outlook:
    """Return the evaluation with the result of a check, which knows whether multi-file fixes are complete."""
    made = {} if outlook is None else dict(_keyed_prospects(outlook))
    prospects = []
    for key, finding in _keyed(result.findings):
        prospect = replace(made.get(key, Prospect(finding)), finding=finding)
        if finding.fix is None and prospect.chance is None:
            prospect = replace(prospect, hunks=())
        prospects.append(prospect)
    return Outlook(result, tuple(prospects), () if outlook is None else outlook.counts)


def _keyed_prospects(outlook: Outlook) -> Iterator[tuple[_Key, Prospect]]:
    keys = (key for key, _ in _keyed([prospect.finding for prospect in outlook.prospects]))
    return zip(keys, outlook.prospects, strict=True)


def _settled(found: Sequence[Outlook]) -> Iterator[Outlook]:
    """Yield the evaluations without possible multi-file fixes of which another file has no part."""
    parts = {outlook.result.path: _joints(outlook) for outlook in found}
    for outlook in found:
        prospects = tuple(
            prospect if _has_all(prospect, parts) else replace(prospect, chance=None, hunks=())
            for prospect in outlook.prospects
        )
        yield replace(outlook, prospects=prospects)


def _joints(outlook: Outlook) -> set[str]:
    chances = [prospect.chance.finding for prospect in outlook.prospects if prospect.chance]
    return set(joints([*outlook.result.findings, *chances]))


def _has_all(prospect: Prospect, parts: Mapping[str, set[str]]) -> bool:
    fix = prospect.chance.finding.fix if prospect.chance else None
    joint = fix.joint if fix else None
    return joint is None or all(joint.name in parts.get(path, ()) for path in joint.paths)
