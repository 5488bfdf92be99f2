"""The files of a tree: scanned, linked with each other, and scanned again where the others turn out to matter."""

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
"""Is told how many files are done, and of how many."""


class Scanner:
    """One look at all files of a tree: what each gave, and the project that they make.

    What an earlier look has made need not be made again, where it is given: ``known``, ``engines`` for all named
    files, and the ``stamps`` of all files.
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
        """Whether a file could not be looked at, which may go better the next time."""
        self.partners: set[str] = set()
        """The files that were not named and have to change with one that was, by their paths as they are shown."""
        self.known = known
        """What is known of the tree: at first by an earlier run, then by this one."""
        self._stamps = stamps
        self._looker = Looker(self.engines, self.project, self.cache)
        self._packed: dict[str, bytes] = {}
        """What each file gave, if anything, for `torchmigrate.run.wire` to unpack."""
        self._unread: set[str] = set()
        """The named files that were not looked at for want of a grammar."""
        self._joining: set[str] = set()
        """The named files with parts of joint fixes."""
        self._asked_elsewhere = False
        """Whether a rule has looked into files that have no stamps."""
        self._root = tree.root

    @property
    def is_lasting(self) -> bool:
        """Whether the results hold as long as the files have these stamps."""
        return not (self.failed or self._asked_elsewhere)

    @cached_property
    def stamps(self) -> Stamps:
        """The states of the files; to be asked for before any is read."""
        return self._stamps or Stamps(self.files.values())

    @property
    def results(self) -> Results:
        """What the named files gave, in order, without those that gave nothing."""
        return Results(self._packed[place] for place in self.named if place in self._packed)

    def result(self, place: str) -> FileResult:
        """What one file gave."""
        packed = self._packed.get(place)
        return FileResult(self.files[place].path) if packed is None else unpack(FileResult, packed)

    def scan(self, progress: Progress | None) -> None:
        """Scans every file that passes gate 1, and again those that the others turn out to matter to."""
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
        """What files tell while not all is known: those that only ask after those that may answer.

        ``others`` is what other files have told.
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
        """Adds what files tell to the ``facts``, when so many are ``done``; returns the files that wait."""
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
        """Whether what a file gave rests on what is known of the project in the end."""
        return not told.provisional and self.project.holds(told.assumed)

    def _expect(self, facts: Mapping[str, Facts]) -> None:
        """Lets rules know what some of the files have told."""
        told = (facts[place] for place in self.files if place in facts)
        self.project.expected = Expected(told, is_whole=self.project.is_whole)

    def _last_looks(self, places: Sequence[str]) -> None:
        """What files give with all that is known of the others."""
        files = {place: self.files[place] for place in places}
        for place, look in sharing.looks(self._looker, files):
            self.failed = self.failed or look.failed
            if look.scan is not None:
                self._asked_elsewhere |= look.scan.facts.asked_elsewhere
                self._keep(place, look.scan.result)

    def _settle(self) -> None:
        """Withholds the joint fixes that lack a part, and says once which files were not looked at."""
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
        """Follows names from file to file; only from those that are ``fresh`` there may be any to follow."""
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
