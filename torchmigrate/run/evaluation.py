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

from torchmigrate.engine.checked_file import CheckedFile
from torchmigrate.engine.engine import Engine
from torchmigrate.model.findings import FileResult, Finding, Span
from torchmigrate.model.torch_versions import OLDEST, Version
from torchmigrate.model.vocabulary import Severity
from torchmigrate.prefilter.project_file_kinds import is_document
from torchmigrate.project.file_search import InputFile
from torchmigrate.project.mentions import SearchKey
from torchmigrate.project.project_facts import Project
from torchmigrate.run import parallel, workers
from torchmigrate.run.cache import Cache, compute_digest
from torchmigrate.run.engines import Engines
from torchmigrate.run.multi_file import collect_multi_file_fixes
from torchmigrate.run.profiles import Profile
from torchmigrate.run.scanner import Progress, Scanner
from torchmigrate.run.snapshot import Snapshot, Stamps
from torchmigrate.run.tree import Tree
from torchmigrate.run.wire import pack, unpack
from torchmigrate.text.edit_hunks import EditHunk, create_hunks
from torchmigrate.text.source_text import SourceError


class FindingCount(NamedTuple):
    """The number of findings of a rule with a severity in one file, evaluated at one release."""

    release: Version
    code: str
    severity: Severity
    number: int


class PossibleFix(NamedTuple):
    """A fix that becomes available with a higher minimum."""

    minimum: Version
    """The lowest minimum that allows the fix."""
    finding: Finding
    """The same finding with the fix."""


@dataclass(frozen=True, slots=True)
class EvaluatedFinding:
    """One finding at the target, and its evaluation at other versions."""

    finding: Finding
    course: tuple[tuple[Version, Severity], ...] = ()
    """The severity at each release that reports a finding at that place."""
    chance: PossibleFix | None = None
    hunks: tuple[EditHunk, ...] = ()
    """The lines that its fix, or the possible one, changes; empty if not requested."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evaluation of one file."""

    result: FileResult
    """The result of `torchmigrate check`."""
    prospects: tuple[EvaluatedFinding, ...] = ()
    """The findings of that result, each with its evaluation."""
    counts: tuple[FindingCount, ...] = ()


def list_releases(minimum: Version, target: Version) -> list[Version]:
    """Return the releases of torch 2 from ``minimum`` to ``target``, both included."""
    return [(2, number) for number in range(max(minimum, OLDEST)[1], target[1] + 1)]


def evaluate_tree(
    tree: Tree, *, edits: bool, cache: Cache | None = None, progress: Progress | None = None
) -> Iterator[Evaluation]:
    """Yield the evaluation of each named file, in order; files without findings and errors may be left out.

    ``edits`` requests the changed lines of fixes.
    """
    cache, engines, stamps = cache or Cache(None), Engines.from_tree(tree), Stamps(tree.files.values())
    context = compute_digest(b"plan", b"edits" if edits else b"", engines.compute_context(tree))
    snapshot = Snapshot(cache, context, tree, stamps)
    if (kept := snapshot.load_results()) is not None:
        yield from (unpack(Evaluation, packed) for packed in kept)
        return
    scanner = Scanner(tree, cache, engines=engines, stamps=stamps)
    scanner.scan(progress)
    known = scanner.known
    told = known.facts if known is not None else {}
    files = {
        place: scanner.files[place]
        for place in scanner.named
        if place in told and (is_document(scanner.files[place].path) or told[place].mentions)
    }
    made = dict(_evaluate_files(scanner, files, edits))
    found = {place: _merge_result(scanner.get_result(place), made.get(place)) for place in scanner.named}
    complete = list(_remove_incomplete(list(found.values())))
    if not scanner.failed:
        telling = (one for one in complete if one.result.has_content or one.counts)
        snapshot.store_results(map(pack, telling), scanner.digest_searches())
    yield from complete


def _evaluate_files(
    scanner: Scanner, files: dict[str, InputFile], edits: bool
) -> Iterator[tuple[str, Evaluation]]:
    """Yield the evaluation of each file with its path, in several processes if there are many files."""
    make = partial(_create_worker, scanner.engines.profiles, scanner.project, edits)
    items = [(place, file.path, file.data) for place, file in files.items()]
    jobs = scanner.engines.jobs
    if jobs != 1 and len(items) * 8 >= parallel.WORTHWHILE:
        scanner.cache.close_connection()
        for (place, *_), sent in workers.map_all(make, items, workers.count_processes(jobs)):
            if isinstance(sent, bytes) and sent:
                yield place, _receive(scanner, sent)
        return
    work = make()
    for item in items:
        if sent := work(item):
            yield item[0], _receive(scanner, sent)


class _Sent(NamedTuple):
    """What a process returns for one file."""

    evaluation: Evaluation
    searches: tuple[SearchKey, ...]
    """The searches of rules in files that no rule reads, so far."""


def _receive(scanner: Scanner, sent: bytes) -> Evaluation:
    """Return an evaluation, and note the searches that it relies on."""
    received = unpack(_Sent, sent)
    scanner.searches |= dict.fromkeys(received.searches)
    return received.evaluation


def _create_worker(
    profiles: Mapping[str, Profile], project: Project, edits: bool
) -> Callable[[parallel.WorkItem], bytes]:
    """Return the work of a process: the packed evaluation of one file, or b"" if it cannot be read."""
    engines = Engines(profiles)

    def look(item: parallel.WorkItem) -> bytes:
        place, shown, data = item
        engine = engines.get_engine(place)
        try:
            subject = engine.open_file(
                shown, InputFile(shown, data).read_bytes(), project, project.create_links(place)
            )
            made = _Evaluator(engine, subject, edits).evaluate()
            subject.release_memory()
        except (OSError, SourceError, RecursionError):
            return b""
        return pack(_Sent(made, project.list_searches()))

    return look


class _Evaluator:
    """Evaluates one parsed file under several versions."""

    def __init__(self, engine: Engine, subject: CheckedFile, edits: bool) -> None:
        self._engine = engine
        self._subject = subject
        self._edits = edits
        self._options = engine.rules.options

    def evaluate(self) -> Evaluation:
        """Return the evaluation of the file."""
        target, minimum = self._options.target, self._options.minimum
        courses: dict[_Key, list[tuple[Version, Severity]]] = {}
        counts: Counter[tuple[Version, str, Severity]] = Counter()
        now = self._evaluate_at(target, minimum, edits=self._edits)
        for release in list_releases(minimum, target):
            result = now if release == target else self._evaluate_at(release, minimum)
            for key, finding in _number_findings(result.findings):
                courses.setdefault(key, []).append((release, finding.severity))
                counts[release, finding.code, finding.severity] += 1
        chances = self._find_possible_fixes(now)
        prospects = tuple(
            EvaluatedFinding(
                finding,
                tuple(courses.get(key, ())),
                chances.get(key),
                self._render_hunks(chances[key].finding if key in chances else finding),
            )
            for key, finding in _number_findings(now.findings)
        )
        return Evaluation(now, prospects, tuple(FindingCount(*key, number) for key, number in counts.items()))

    def _find_possible_fixes(self, now: FileResult) -> dict[_Key, PossibleFix]:
        """Return the findings that have a fix only with a higher minimum, with the lowest one that is enough."""
        lacking = {key for key, finding in _number_findings(now.findings) if finding.fix is None}
        target, minimum = self._options.target, self._options.minimum
        if not lacking or target == minimum:
            return {}
        able = _select_fixable(self._evaluate_at(target, target), lacking)
        chances: dict[_Key, PossibleFix] = {}
        for bound in list_releases(minimum, target) if able else ():
            if bound <= minimum:
                continue
            for key, finding in _select_fixable(
                self._evaluate_at(target, bound, edits=self._edits), lacking
            ).items():
                if key in able:
                    chances.setdefault(key, PossibleFix(bound, finding))
            if chances.keys() == able.keys():
                break
        return chances

    def _evaluate_at(self, target: Version, minimum: Version, *, edits: bool = False) -> FileResult:
        options = replace(self._options, target=target, minimum=minimum)
        return self._engine.evaluate_under(self._subject, options, edits=edits)

    def _render_hunks(self, finding: Finding) -> tuple[EditHunk, ...]:
        if not self._edits or finding.fix is None:
            return ()
        return create_hunks(self._subject.source.text, finding.fix.edits)


_Key = tuple[str, Span | None, int]
"""The identity of a finding across evaluations: its rule, its span, and a number if there are several there."""


def _number_findings(findings: Sequence[Finding]) -> Iterator[tuple[_Key, Finding]]:
    seen: Counter[tuple[str, Span | None]] = Counter()
    for finding in findings:
        place = (finding.code, finding.span)
        yield (*place, seen[place]), finding
        seen[place] += 1


def _select_fixable(result: FileResult, lacking: set[_Key]) -> dict[_Key, Finding]:
    return {
        key: finding for key, finding in _number_findings(result.findings) if key in lacking and finding.fix
    }


def _merge_result(result: FileResult, outlook: Evaluation | None) -> Evaluation:
    """Return the evaluation with the result of a check, which knows whether multi-file fixes are complete."""
    made = {} if outlook is None else dict(_number_evaluated(outlook))
    prospects = []
    for key, finding in _number_findings(result.findings):
        prospect = replace(made.get(key, EvaluatedFinding(finding)), finding=finding)
        if finding.fix is None and prospect.chance is None:
            prospect = replace(prospect, hunks=())
        prospects.append(prospect)
    return Evaluation(result, tuple(prospects), () if outlook is None else outlook.counts)


def _number_evaluated(outlook: Evaluation) -> Iterator[tuple[_Key, EvaluatedFinding]]:
    keys = (key for key, _ in _number_findings([prospect.finding for prospect in outlook.prospects]))
    return zip(keys, outlook.prospects, strict=True)


def _remove_incomplete(found: Sequence[Evaluation]) -> Iterator[Evaluation]:
    """Yield the evaluations without the possible multi-file fixes that lack a part in another file."""
    parts = {outlook.result.path: _name_multi_file_fixes(outlook) for outlook in found}
    for outlook in found:
        prospects = tuple(
            prospect if _is_complete(prospect, parts) else replace(prospect, chance=None, hunks=())
            for prospect in outlook.prospects
        )
        yield replace(outlook, prospects=prospects)


def _name_multi_file_fixes(outlook: Evaluation) -> set[str]:
    chances = [prospect.chance.finding for prospect in outlook.prospects if prospect.chance]
    return set(collect_multi_file_fixes([*outlook.result.findings, *chances]))


def _is_complete(prospect: EvaluatedFinding, parts: Mapping[str, set[str]]) -> bool:
    fix = prospect.chance.finding.fix if prospect.chance else None
    joint = fix.joint if fix else None
    return joint is None or all(joint.name in parts.get(path, ()) for path in joint.paths)
