"""Scanning the files of a tree: each by itself, linked with each other, and again where other files matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING

from torchmigrate.model.findings import FileResult
from torchmigrate.project.expected import Expected
from torchmigrate.project.files import Input
from torchmigrate.project.project import Project
from torchmigrate.run import sharing
from torchmigrate.run.cache import Cache
from torchmigrate.run.engines import Engines
from torchmigrate.run.joint import joints, settled
from torchmigrate.run.known import Known, Memory
from torchmigrate.run.looker import Looker
from torchmigrate.run.snapshot import Stamps
from torchmigrate.run.tree import Tree
from torchmigrate.run.unread import gathered, is_unread
from torchmigrate.run.wire import Results, pack, unpack

if TYPE_CHECKING:
    from torchmigrate.project.mentions import Facts

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
        known: Known | None = None,
        *,
        engines: Engines | None = None,
        stamps: Stamps | None = None,
    ) -> None:
        self.named = list(dict.fromkeys(file.place for file in tree.named))
        self.files = tree.files
        self.cache = cache or Cache(None)
        self.engines = engines or Engines.of_tree(tree)
        self._reading = partial(_content, self.files)  # and no method: it travels to other processes
        shown = {place: file.path for place, file in self.files.items()}
        self.project = Project(self.files, self._reading, shown=shown, is_whole=tree.is_whole, root=tree.root)
        self.failed = False
        """Whether a file could not be checked, which may work the next time."""
        self.partners: set[str] = set()
        """Files that were not named but have to change with a named one, by their displayed paths."""
        self.known = known
        """The facts of the tree, at first those of an earlier run, then those of this one."""
        self._stamps = stamps
        self._looker = Looker(self.engines, self.project, self.cache)
        self._packed: dict[str, bytes] = {}
        """The packed result of each file that has any; see `torchmigrate.run.wire`."""
        self._unread: set[str] = set()
        """The named files that could not be read because a grammar is not installed."""
        self._joining: set[str] = set()
        """The named files with parts of multi-file fixes."""
        self._asked_elsewhere = False
        """Whether a rule has searched files that have no stamps."""
        self._root = tree.root

    @property
    def is_lasting(self) -> bool:
        """Whether the results are valid as long as the files keep these stamps."""
        return not (self.failed or self._asked_elsewhere)

    @cached_property
    def stamps(self) -> Stamps:
        """The states of the files, to be taken before any file is read."""
        return self._stamps or Stamps(self.files.values())

    @property
    def results(self) -> Results:
        """The results of the named files in order, without those that are empty."""
        return Results(self._packed[place] for place in self.named if place in self._packed)

    def result(self, place: str) -> FileResult:
        """Return the result of one file."""
        packed = self._packed.get(place)
        return FileResult(self.files[place].path) if packed is None else unpack(FileResult, packed)

    def scan(self, progress: Progress | None) -> None:
        """Scan every file that passes the prefilter, and again those to which other files matter."""
        with self._looker.garbage:
            self._scan_all(progress)

    def _scan_all(self, progress: Progress | None) -> None:
        memory = Memory(self.cache, self.engines.telling, self._root) if self._root else None
        known = self.known or (memory.load(self.files) if memory is not None else None) or Known()
        changed = known.changed(self.stamps)
        fresh = [place for place in self.files if place in changed or place in self._reported]
        self.project.is_complete = False
        facts = self._first_looks(fresh, known.without(fresh, self.stamps), progress)
        if known.holds(facts, changed, self.stamps):
            self.project.exports = dict(known.exports)
            facts |= known.without(fresh, self.stamps)
            fresh += sorted(known.concerned(self.stamps) - set(fresh))
        else:
            looked = set(fresh)
            others = [place for place in self.files if place not in looked]
            facts |= self._first_looks(others, facts, progress)
            fresh = list(self.files)
        facts = {place: facts[place] for place in self.files if place in facts}
        if self.project.exports or any(place in facts for place in fresh):
            self._expect(facts)
            self._link(facts, fresh)
        for told in facts.values():
            self.project.mention(told.mentions)
        self.project.is_complete = True
        self._last_looks([place for place in self.named if place in facts and not self._holds(facts[place])])
        self._settle()
        self.known = Known(self.stamps.by_place, facts, self.project.exports)
        if memory is not None and not self.failed and self.known.stamps != known.stamps:
            memory.store(self.known)
        if progress is not None:
            progress(len(self.files), len(self.files))

    def _first_looks(
        self, places: Sequence[str], others: Mapping[str, Facts], progress: Progress | None
    ) -> dict[str, Facts]:
        """Return the facts of files before all is known: first files that have answers, then those that only ask.

        ``others`` has the facts of other files.

        """
        facts: dict[str, Facts] = {}
        self._expect(others)
        waiting = self._looked(places, facts, progress, 0)
        if waiting:
            self._expect({**others, **facts})
            self._looker.awaited = True
            self._looked(waiting, facts, progress, len(places) - len(waiting))
            self._looker.awaited = False
        return facts

    def _looked(
        self, places: Sequence[str], facts: dict[str, Facts], progress: Progress | None, done: int
    ) -> list[str]:
        """Add the facts of files to ``facts`` while ``done`` files are finished already; return the files that have to wait."""
        files, total = {place: self.files[place] for place in places}, done + len(places)
        waiting = []
        for place, look in sharing.looks(self._looker, files):
            if look.waits:
                waiting.append(place)
                continue
            if progress is not None:
                progress(done, total)
            done += 1
            self.failed = self.failed or look.failed
            if look.scan is not None:
                facts[place] = look.scan.facts
                self._keep(place, look.scan.result)
                if look.key is not None:
                    self.cache.put(look.key, look.scan)
        return waiting

    def _holds(self, told: Facts) -> bool:
        """Return whether the result of a file relies only on what the project turned out to be."""
        return not told.provisional and self.project.holds(told.assumed)

    def _expect(self, facts: Mapping[str, Facts]) -> None:
        """Let rules use the facts of some files as the expected state of the project."""
        told = (facts[place] for place in self.files if place in facts)
        self.project.expected = Expected(told, is_whole=self.project.is_whole)

    def _last_looks(self, places: Sequence[str]) -> None:
        """Check files again with all that is known of the others."""
        files = {place: self.files[place] for place in places}
        for place, look in sharing.looks(self._looker, files):
            self.failed = self.failed or look.failed
            if look.scan is not None:
                self._asked_elsewhere |= look.scan.facts.asked_elsewhere
                self._keep(place, look.scan.result)

    def _settle(self) -> None:
        """Block multi-file fixes that lack a part, and report only once which files could not be read."""
        unread = [place for place in self.named if place in self._unread]
        for place, result in gathered({place: self.result(place) for place in unread}).items():
            self._keep(place, result)
        parts = [self.result(place) for place in self._joining]
        paths = {path for one in parts for joint in joints(one.findings).values() for path in joint.paths}
        places = {self.files[place].path: place for place in self.named if self.files[place].path in paths}
        self.partners = paths - places.keys()
        for path, result in settled({path: self.result(place) for path, place in places.items()}).items():
            self._keep(places[path], result)

    def _link(self, facts: dict[str, Facts], fresh: Sequence[str]) -> None:
        """Follow re-exported names from file to file; only the ``fresh`` files can add new links."""
        from torchmigrate.project.exports import Linker

        def look(place: str, data: bytes) -> Facts:
            scan = self._looker.scan(place, self.files[place], data)
            self._keep(place, scan.result)
            return scan.facts

        watch = self.engines.of(fresh[0] if fresh else "").rules.watch
        Linker(list(self.files), self._reading, look, facts, self.project, watch).link(fresh)

    def _keep(self, place: str, result: FileResult) -> None:
        self._joining.discard(place)
        self._unread.discard(place)
        if place in self._reported and result.says_anything:
            self._packed[place] = pack(result)
            if joints(result.findings):
                self._joining.add(place)
            if is_unread(result):
                self._unread.add(place)
        else:
            self._packed.pop(place, None)

    @cached_property
    def _reported(self) -> frozenset[str]:
        return frozenset(self.named)


def _content(files: Mapping[str, Input], place: str) -> bytes:
    return files[place].read()
