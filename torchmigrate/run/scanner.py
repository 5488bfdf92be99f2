"""Scanning the files of a tree: each by itself, linked with each other, and again where other files matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from torchmigrate.model.findings import FileResult
from torchmigrate.project.expected_project import ExpectedProject
from torchmigrate.project.file_search import InputFile
from torchmigrate.project.project_facts import Project
from torchmigrate.run import parallel
from torchmigrate.run.cache import Cache
from torchmigrate.run.engines import Engines
from torchmigrate.run.facts_store import FactsStore, KnownFacts
from torchmigrate.run.file_checker import FileChecker
from torchmigrate.run.judgements import Judgement, JudgementStore
from torchmigrate.run.multi_file import block_incomplete, collect_multi_file_fixes
from torchmigrate.run.snapshot import Stamps
from torchmigrate.run.tree import Tree
from torchmigrate.run.unread import is_unread, merge_unread
from torchmigrate.run.wire import PackedResults, pack, unpack

if TYPE_CHECKING:
    from torchmigrate.project.mentions import FileFacts, Mention, SearchKey

Progress = Callable[[int, int], None]
"""Called with the number of checked files and the number of all files."""


class Scanner:
    """One scan of all files of a tree: the result of each, and the project that they form.

    Results of an earlier scan can be reused: ``known`` facts, ``engines`` for all named files, ``stamps`` of all files.
    """

    def __init__(
        self,
        tree: Tree,
        cache: Cache | None = None,
        known: KnownFacts | None = None,
        *,
        engines: Engines | None = None,
        stamps: Stamps | None = None,
    ) -> None:
        self.named = list(dict.fromkeys(file.place for file in tree.named))
        self.files = tree.files
        self.cache = cache or Cache(None)
        self.engines = engines or Engines.from_tree(tree)
        self._reading = partial(_read_content, self.files)  # and no method: it travels to other processes
        shown = {place: file.path for place, file in self.files.items()}
        self.project = Project(
            self.files, self._reading, shown=shown, is_whole=tree.is_whole, root=tree.root, record=tree.record
        )
        self._record = tree.record
        self.failed = False
        """Whether a file could not be checked, which may work the next time."""
        self.partners: set[str] = set()
        """Files that were not named but have to change with a named one, by their displayed paths."""
        self.known = known
        """The facts of the tree, at first those of an earlier run, then those of this one."""
        self._stamps = stamps
        self._looker = FileChecker(self.engines, self.project, self.cache)
        self._packed: dict[str, bytes] = {}
        """The packed result of each file that has any; see `torchmigrate.run.wire`."""
        self._unread: set[str] = set()
        """The named files that could not be read because a grammar is not installed."""
        self._joining: set[str] = set()
        """The named files with parts of multi-file fixes."""
        self.searches: dict[SearchKey, None] = {}
        """The searches of rules in files that have no stamps."""
        self._root = tree.root
        self._judgements = None
        if self.cache.is_enabled and tree.root and known is None and not tree.others:
            self._judgements = JudgementStore(self.cache, self.engines.compute_context(tree), tree.root)

    @cached_property
    def stamps(self) -> Stamps:
        """The states of the files, to be taken before any file is read."""
        return self._stamps or Stamps(self.files.values())

    @property
    def results(self) -> PackedResults:
        """The results of the named files in order, without those that are empty."""
        return PackedResults(self._packed[place] for place in self.named if place in self._packed)

    def digest_searches(self) -> dict[SearchKey, bytes]:
        """Return a digest of what each search of a rule found in files that have no stamps."""
        return {key: self.project.digest_search(key) for key in self.searches}

    def get_result(self, place: str) -> FileResult:
        """Return the result of one file."""
        packed = self._packed.get(place)
        return FileResult(self.files[place].path) if packed is None else unpack(FileResult, packed)

    def scan(self, progress: Progress | None) -> None:
        """Scan every file that passes the prefilter, and again those to which other files matter."""
        with self._looker.garbage:
            self._scan_all(progress)

    def _scan_all(self, progress: Progress | None) -> None:
        memory = FactsStore(self.cache, self.engines.facts_key, self._root) if self._root else None
        known = self.known or (memory.load_facts(self.files) if memory is not None else None)
        if known is None or known.record != self._record.digest:
            known = KnownFacts(record=self._record.digest)
        self.project.record_mentions(self._recorded)  # first: what rules note about a file may rely on it
        changed = known.find_changed(self.stamps)
        judged = self._load_judgements(known)
        fresh = [
            place
            for place in self.files
            if place in changed or (place in self._reported and place not in judged)
        ]
        self.project.is_complete = False
        facts = self._collect_facts(fresh, known.select_unchanged(changed, self.stamps), progress)
        if known.links_still_hold(facts, changed, self.stamps):
            self.project.exports = dict(known.exports)
            facts |= known.select_unchanged(fresh, self.stamps)
            fresh += sorted(known.find_affected(self.stamps) - set(fresh))
        else:
            judged = {}
            looked = set(fresh)
            others = [place for place in self.files if place not in looked]
            facts |= self._collect_facts(others, facts, progress)
            fresh = list(self.files)
        facts = {place: facts[place] for place in self.files if place in facts}
        for place, judgement in judged.items():
            self._take_judgement(place, judgement, facts)
        if self.project.exports or any(place in facts for place in fresh):
            self._set_expected(facts)
            self._link_files(facts, fresh)
        for told in facts.values():
            self.project.record_mentions(told.mentions)
        self._correct_results(facts)
        self.project.is_complete = True
        again = [place for place in self.named if place in facts and not self._is_final(facts[place])]
        self._check_again(again)
        self._store_judgements(facts, again)
        self._finish_results()
        self.known = KnownFacts(self.stamps.by_place, facts, self.project.exports, self._record.digest)
        if memory is not None and not self.failed and self.known.stamps != known.stamps:
            memory.store_facts(self.known)
        if progress is not None:
            progress(len(self.files), len(self.files))

    def _collect_facts(
        self, places: Sequence[str], others: Mapping[str, FileFacts], progress: Progress | None
    ) -> dict[str, FileFacts]:
        """Return the facts of files, before all facts are known: first of files that contribute facts, then of files whose rules only ask for some.

        ``others`` has the facts of other files, and those that files had when they were last checked.
        """
        facts: dict[str, FileFacts] = {}
        self._set_expected(others)
        self._looker.foresees = bool(others)
        waiting = self._check_files(places, facts, progress, 0)
        if waiting:
            self._set_expected({**others, **facts})
            self._looker.awaited = True
            self._check_files(waiting, facts, progress, len(places) - len(waiting))
            self._looker.awaited = False
        return facts

    def _check_files(
        self, places: Sequence[str], facts: dict[str, FileFacts], progress: Progress | None, done: int
    ) -> list[str]:
        """Add the facts of files to ``facts`` while ``done`` files are finished already; return the files that have to wait."""
        files, total = {place: self.files[place] for place in places}, done + len(places)
        waiting = []
        for place, look in parallel.check_files(self._looker, files):
            if look.waits:
                waiting.append(place)
                continue
            if progress is not None:
                progress(done, total)
            done += 1
            self.failed = self.failed or look.failed
            if look.scan is not None:
                facts[place] = look.scan.facts
                self._store_result(place, look.scan.result)
                if look.key is not None:
                    self.cache.put(look.key, look.scan)
        return waiting

    def _correct_results(self, facts: dict[str, FileFacts]) -> None:
        """Check files again that relied on wrong answers, with the right ones; these are recorded, for the next run."""
        wrong = [
            place
            for place in self.named
            if place in facts and not facts[place].provisional and not self._is_final(facts[place])
        ]
        if wrong:
            self._set_expected(facts)
            self._looker.foresees = self._looker.awaited = self._looker.corrects = True
            self._check_files(wrong, facts, None, 0)
            self._looker.corrects = False

    def _load_judgements(self, known: KnownFacts) -> dict[str, Judgement]:
        """Return the judgements of an earlier run for the named files whose facts are known as well."""
        found = self._judgements.load_judgements(self.files, self.stamps) if self._judgements else {}
        return {
            place: judgement
            for place, judgement in found.items()
            if place in self._reported and known.stamps.get(place) == judgement.stamp
        }

    def _take_judgement(self, place: str, judgement: Judgement, facts: Mapping[str, FileFacts]) -> None:
        """Use an earlier result until it turns out that an answer which it relies on has changed."""
        if place in facts:
            facts[place].assumed = judgement.assumed
        if judgement.packed:
            self._store_result(place, unpack(FileResult, judgement.packed))

    def _store_judgements(self, facts: Mapping[str, FileFacts], again: Sequence[str]) -> None:
        """Keep the results that were made before all facts were known, and that these have confirmed."""
        if self._judgements is None or self.failed:
            return
        left_out = set(again)
        confirmed = (place for place in self.named if place not in left_out)
        assumed = {place: facts[place].assumed if place in facts else () for place in confirmed}
        self._judgements.store_judgements(self.files, self.stamps, self._packed, assumed)

    def _is_final(self, told: FileFacts) -> bool:
        """Return whether the result of a file relies only on facts that the complete project confirms."""
        return not told.provisional and self.project.is_unchanged(told.assumed)

    def _set_expected(self, facts: Mapping[str, FileFacts]) -> None:
        """Let rules use the facts of some files as the expected state of the project."""
        told = (facts[place] for place in self.files if place in facts)
        self.project.expected = ExpectedProject(told, self._recorded, is_whole=self.project.is_whole)

    @cached_property
    def _recorded(self) -> Sequence[Mention]:
        """What a recorded run shows, as facts about the project."""
        if not self._record.by_path:
            return ()
        from torchmigrate.run.recorded_mentions import create_mentions

        return tuple(create_mentions(self._record, self.project))

    def _check_again(self, places: Sequence[str]) -> None:
        """Check files again with all facts about the other files."""
        files = {place: self.files[place] for place in places}
        for place, look in parallel.check_files(self._looker, files):
            self.failed = self.failed or look.failed
            if look.scan is not None:
                self.searches |= dict.fromkeys(look.scan.facts.searches)
                self._store_result(place, look.scan.result)

    def _finish_results(self) -> None:
        """Block multi-file fixes that lack a part, and report only once which files could not be read."""
        unread = [place for place in self.named if place in self._unread]
        for place, result in merge_unread({place: self.get_result(place) for place in unread}).items():
            self._store_result(place, result)
        parts = [self.get_result(place) for place in self._joining]
        paths = {
            path
            for one in parts
            for joint in collect_multi_file_fixes(one.findings).values()
            for path in joint.paths
        }
        places = {self.files[place].path: place for place in self.named if self.files[place].path in paths}
        self.partners = paths - places.keys()
        for path, result in block_incomplete(
            {path: self.get_result(place) for path, place in places.items()}
        ).items():
            self._store_result(places[path], result)

    def _link_files(self, facts: dict[str, FileFacts], fresh: Sequence[str]) -> None:
        """Follow re-exported names from file to file; only the ``fresh`` files can add new links."""
        from torchmigrate.project.export_linking import ExportLinker

        def look(place: str, data: bytes) -> FileFacts:
            scan = self._looker.scan_content(place, self.files[place], data)
            self._store_result(place, scan.result)
            return scan.facts

        watch = self.engines.get_engine(fresh[0] if fresh else "").rules.watch
        ExportLinker(list(self.files), self._reading, look, facts, self.project, watch).link_exports(fresh)

    def _store_result(self, place: str, result: FileResult) -> None:
        self._joining.discard(place)
        self._unread.discard(place)
        if place in self._reported and result.has_content:
            self._packed[place] = pack(result)
            if collect_multi_file_fixes(result.findings):
                self._joining.add(place)
            if is_unread(result):
                self._unread.add(place)
        else:
            self._packed.pop(place, None)

    @cached_property
    def _reported(self) -> frozenset[str]:
        return frozenset(self.named)


def _read_content(files: Mapping[str, InputFile], place: str) -> bytes:
    return files[place].read_bytes()
