"""A project as the editor sees it: the files on the disk, with the unsaved texts of those that are open.

Facts about the files are kept between checks, so that a keystroke costs the check of one file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from torchmigrate.model.findings import FileError, FileResult, Finding
from torchmigrate.project import file_search, ignores
from torchmigrate.project.file_search import InputFile
from torchmigrate.run import runner
from torchmigrate.run.cache import Cache
from torchmigrate.run.engines import Engines
from torchmigrate.run.facts_store import KnownFacts
from torchmigrate.run.profiles import Profile, Profiles
from torchmigrate.run.scanner import Progress, Scanner
from torchmigrate.run.selection import RuleSelection
from torchmigrate.run.snapshot import Stamps
from torchmigrate.run.tree import Tree, is_of_interest
from torchmigrate.settings.settings import Settings

Texts = Mapping[str, bytes]
"""Contents of files by path, saved or not."""

MOST_BYTES = 2 << 20
"""The size above which an open text is not checked: each change of it would take seconds."""

_TOO_LARGE = (
    f"not checked here, since it has more than {MOST_BYTES >> 20} MiB; run `torchmigrate check` on it"
)


class OpenProject:
    """The files below ``root``, or, if that is None, single files without a project.

    Not thread-safe. The process's working directory is the root during each call: paths are shown and patterns in settings
    are applied as if the command line had been called there.
    """

    def __init__(self, root: str | None, cache: Cache) -> None:
        self.root = root
        self.is_known = root is None
        """Whether all files have been checked once."""
        self._cache = cache
        self._files: dict[str, InputFile] = {}
        self._profiles = Profiles({})
        self._by_folder: dict[str, Profile] = {}
        self._engines: dict[tuple[bool, bool], Engines] = {}
        self._telling = b""
        self._known: KnownFacts | None = None
        self._stamps: Stamps | None = None
        self._partners: dict[str, set[str]] = {}

    def __contains__(self, place: str) -> bool:
        """Return whether the file was there when the list of files was last read."""
        return place in self._files

    def refresh(self) -> None:
        """Read the list of files and their settings again. Raises ConfigError, and then nothing changes."""
        ignores.read_patterns.cache_clear()
        profiles = Profiles({})
        found: tuple[InputFile, ...] = ()
        with self._change_to_root():
            if self.root is not None:
                found = file_search.find_files(
                    [os.curdir], wanted=is_of_interest, excludes=profiles.get_excludes
                ).inputs
            folders = {os.path.dirname(file.place) for file in found} | self._by_folder.keys()
            by_folder = {
                folder: profiles.get_profile(folder) for folder in sorted(folders) if os.path.isdir(folder)
            }
            sorts = RuleSelection([profile.settings for profile in by_folder.values()]).get_file_sorts(
                Cache(None)
            )
        self._profiles, self._by_folder, self._engines = profiles, by_folder, {}
        self._files = {file.place: file for file in found if sorts.includes_path(file.path)}
        self._stamps = None

    def invalidate_files(self) -> None:
        """Forget the state of the files on the disk; the list of files stays."""
        self._stamps = None

    def check_files(
        self, texts: Texts, places: Collection[str], progress: Progress | None = None, *, edits: bool = False
    ) -> dict[str, FileResult]:
        """Return the results for the files at ``places``, and for the other files of their multi-file fixes.

        Excluded files are left out. ``texts`` are the contents of all open files; ``edits`` requests the edits of fixes too.
        Raises ConfigError.
        """
        large = [place for place in places if _is_large(texts, place)]
        refused = {place: FileResult(place, errors=(FileError(place, _TOO_LARGE),)) for place in large}
        with self._change_to_root():
            scanner = self._scan_files(texts, places, progress, edits=edits)
        if scanner is None:
            return refused
        self._known = scanner.known
        if not self.is_known:
            self._cache.close()
            self.is_known = True
        return {**{place: scanner.get_result(place) for place in scanner.named}, **refused}

    def try_texts(self, texts: Texts, place: str) -> FileResult | None:
        """Return the result that the file at ``place`` would have with other ``texts``, without remembering it."""
        with self._change_to_root():
            scanner = self._scan_files(texts, [place], None, edits=False)
        return None if scanner is None else scanner.get_result(place)

    def fix_files(
        self,
        texts: Texts,
        places: Collection[str],
        choose: Callable[[Finding], bool] | None = None,
        *,
        unsafe: bool = False,
    ) -> dict[str, bytes]:
        """Return the new contents of the files at ``places`` that fixing changes.

        ``choose`` is asked about every fix; ``unsafe`` adds unsafe fixes to those that the settings allow.
        """
        with self._change_to_root():
            named = [place for place in places if self._is_inside(place) and not _is_large(texts, place)]
            if not named:
                return {}
            engines = self._get_engines(named, unsafe=unsafe)
            tree = self._build_tree(texts, named)
            results = list(runner.fix_tree(tree, choose=choose, known=self._known, engines=engines))
        by_path = {file.path: file.place for file in tree.named}
        return {by_path[one.path]: one.after for one in results if one.before != one.after}

    def add_partners(self, places: Iterable[str]) -> list[str]:
        """Return the files, and the other files that had to change together with one of them at the last check."""
        partners = {partner for place in places for partner in self._partners.get(place, ())}
        return list(dict.fromkeys([*places, *sorted(partners & self._files.keys())]))

    def get_settings(self, place: str) -> Settings:
        """Return the settings for a file. Raises ConfigError."""
        return self._profiles.get_settings(os.path.dirname(place))

    def _scan_files(
        self, texts: Texts, places: Collection[str], progress: Progress | None, *, edits: bool
    ) -> Scanner | None:
        inside = [place for place in places if self._is_inside(place) and not _is_large(texts, place)]
        while named := self.add_partners(inside):
            engines = self._get_engines(named, edits=edits)
            cache = None if self.is_known else self._cache
            tree = self._build_tree(texts, named)
            scanner = Scanner(tree, cache, self._known, engines=engines, stamps=self._collect_stamps(tree))
            scanner.scan(progress)
            missing = {file.place for file in tree.others if file.path in scanner.partners}
            if not missing:
                return scanner
            for place in inside:
                self._partners.setdefault(place, set()).update(missing)
        return None

    def _is_inside(self, place: str) -> bool:
        """Return whether a file belongs to the project, as a new one does unless it is excluded."""
        if place in self._files or self.root is None:
            return True
        excludes = self._profiles.get_excludes(os.path.dirname(place))
        return is_of_interest(place) and not os.path.exists(place) and not excludes.is_excluded_above(place)

    def _build_tree(self, texts: Texts, named: Collection[str]) -> Tree:
        """Return the tree of the project's files with their unsaved texts; the files in ``named`` are the ones to report on."""
        inputs = dict(self._files)
        open_texts = [place for place in texts if not _is_large(texts, place)]
        for place in {*named, *open_texts} if self.root is not None else named:
            if place in inputs or place in named or self._is_inside(place):
                path = inputs[place].path if place in inputs else os.path.relpath(place)
                inputs[place] = InputFile(path, texts.get(place), place)
        wanted = [inputs.pop(place) for place in named]
        profile_of = self._by_folder.__getitem__
        return Tree(wanted, profile_of, list(inputs.values()), self.root or "", self.root is not None)

    def _collect_stamps(self, tree: Tree) -> Stamps:
        """Return the states of all files; those on the disk are read again only if they may have changed."""
        if self._stamps is None:
            self._stamps = Stamps(self._files.values())
        else:
            unsettled = [place for place, stamp in self._stamps.by_place.items() if not stamp]
            self._stamps = self._stamps.refresh(self._files[place] for place in unsettled)
        return self._stamps.refresh(file for file in (*tree.named, *tree.others) if file.data is not None)

    def _get_engines(self, named: Iterable[str], *, edits: bool = False, unsafe: bool = False) -> Engines:
        """Return engines for all files of the project, so that project facts do not depend on which files are checked."""
        new = {os.path.dirname(place) for place in named} - self._by_folder.keys()
        if new:
            self._by_folder.update({folder: self._profiles.get_profile(folder) for folder in sorted(new)})
            self._engines = {}
        key = (edits, unsafe)
        if key not in self._engines:
            profiles = {folder: _adapt_profile(profile, *key) for folder, profile in self._by_folder.items()}
            self._engines[key] = Engines(profiles)
        engines = self._engines[key]
        if engines.facts_key != self._telling:
            self._known, self._telling = None, engines.facts_key
        return engines

    @contextmanager
    def _change_to_root(self) -> Iterator[None]:
        before = os.getcwd()
        os.chdir(self.root or before)
        try:
            yield
        finally:
            os.chdir(before)


def _is_large(texts: Texts, place: str) -> bool:
    return len(texts.get(place, b"")) > MOST_BYTES


def _adapt_profile(profile: Profile, edits: bool, unsafe: bool) -> Profile:
    """Return the profile with settings that request edits, or that allow unsafe fixes."""
    settings = replace(
        profile.settings,
        output_format="json" if edits else "concise",
        unsafe_fixes=profile.settings.unsafe_fixes or unsafe,
    )
    return profile._replace(settings=settings)
