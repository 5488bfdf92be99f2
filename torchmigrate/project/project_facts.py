"""The facts about all checked files together: their exports, and their uses of symbols."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

from torchmigrate.model.findings import Fix
from torchmigrate.model.vocabulary import Kind, Safety
from torchmigrate.prefilter.foreign_languages import language_of
from torchmigrate.prefilter.project_file_kinds import kind_of
from torchmigrate.project.mentions import Assumption
from torchmigrate.project.module_index import ModuleIndex
from torchmigrate.project.project_links import ProjectLinks
from torchmigrate.project.text_search import TextSearch, list_unread_files, search_unread_files
from torchmigrate.record.file_evidence import FileEvidence
from torchmigrate.record.record_facts import Deadlock, SeenWarning
from torchmigrate.record.run_record import Record
from torchmigrate.text.source_reader import read_source
from torchmigrate.text.source_text import SourceError

if TYPE_CHECKING:
    from torchmigrate.project.file_search import InputFile
    from torchmigrate.project.mentions import Mention, SearchKey
    from torchmigrate.project.text_search import Sought
    from torchmigrate.text.source_text import SourceText

UNSEEN = "only these files are checked, and other files of the project may depend on the old code"
"""The reason why a fix is unsafe that is only right if no other file of the project depends on the old code."""


T = TypeVar("T")


class IncompleteProject(Exception):
    """Raised when a rule asks about a project of which not all files are known yet; the rule runs again later."""


class Project:
    """The facts that rules may ask about, complete before the last rule runs. Paths are absolute."""

    def __init__(
        self,
        paths: Iterable[str] = (),
        read: Callable[[str], bytes] | None = None,
        *,
        shown: Mapping[str, str] | None = None,
        is_whole: bool = True,
        root: str = "",
        record: Record | None = None,
    ) -> None:
        self.is_whole = is_whole
        """Whether these are all files that can observe each other."""
        self.is_complete = True
        """Whether the facts of all files are known."""
        self.expected: Project | None = None
        """The project that answers until all facts are known; see `torchmigrate.project.expected_project`."""
        self.exports: dict[str, dict[str, str]] = {}
        """For each file, its global names that stand for something of torch, with the qualified names in torch."""
        self._mentions: dict[str, list[Mention]] = {}
        self._uses: dict[tuple[tuple[str, ...], frozenset[Kind]], list[Mention]] = {}
        self._derived: dict[Hashable, Any] = {}
        self._assumptions: dict[tuple[tuple[str, ...], frozenset[Kind]], Assumption] = {}
        self._paths = dict.fromkeys(paths)
        self._read = read
        self._shown = shown or {}
        self._root = root
        self._record = record or Record()
        self._elsewhere: dict[SearchKey, list[tuple[str, int, str]]] = {}
        self._unread: list[InputFile] | None = None
        self._search = TextSearch(self._paths, self.read_bytes)
        self._modules = ModuleIndex(self._paths)
        self._once: dict[Hashable, Any] = {}

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the cached values, which another process computes faster than it receives them."""
        return {**self.__dict__, "_once": {}, "_derived": {}}

    def get_display_path(self, path: str) -> str:
        """Return the path of a file as messages show it."""
        return self._shown.get(path, path)

    def get_repository_path(self, path: str) -> str:
        """Return the path of a file relative to its repository, or the displayed path if there is none."""
        return os.path.relpath(path, self._root) if self._root else self.get_display_path(path)

    @property
    def record_digest(self) -> bytes:
        """A digest of the recorded run, on which findings depend."""
        return self._record.digest

    def create_evidence(self, source: SourceText) -> FileEvidence:
        """Return what a recorded run shows about a file."""
        return FileEvidence(source, self._record.get_file(os.path.abspath(source.path)))

    def may_be_warned(self, path: str) -> bool:
        """Return whether a recorded run shows something at lines of the file that is a finding by itself."""
        return any(isinstance(fact, (SeenWarning, Deadlock)) for fact in self._record.get_file(path).facts)

    def __contains__(self, path: str) -> bool:
        """Return whether the file is one of the checked files."""
        return path in self._paths

    def require_facts(self) -> Project:
        """Return the project for a rule, or its expected facts as long as it is incomplete. Raises IncompleteProject."""
        if self.is_complete:
            return self
        if self.expected is None:
            raise IncompleteProject
        return self.expected

    def list_paths(self) -> list[str]:
        """Return the paths of the checked files."""
        return list(self._paths)

    def read_bytes(self, path: str) -> bytes | None:
        """Return the content of a checked file; None for any other file, and for one that cannot be read."""
        if path not in self._paths or self._read is None:
            return None
        try:
            return self._read(path)
        except OSError:
            return None

    def read_code(self, path: str) -> bytes | None:
        """Return the Python code of a checked file: of a notebook, that of its cells, as `Notebook` joins them."""
        data = self.read_bytes(path)
        if data is None or not path.endswith(".ipynb"):
            return data
        try:
            return read_source(path, data).text
        except SourceError:
            return b""

    def read_files(self) -> Iterator[tuple[str, bytes]]:
        """Yield the path and the content of each checked file that can be read."""
        for path in self._paths:
            if (text := self._search.read_text(path)) is not None:
                yield path, text

    def compute_once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the result of ``make``, computed once for each ``key``, since rules ask again for each finding."""
        if key not in self._once:
            self._once[key] = make()
        found: T = self._once[key]
        return found

    def judge_fix(self, fix: Fix) -> Fix:
        """Return a fix that relies on the whole project; it becomes unsafe if not all files are checked."""
        if self.is_whole or fix.safety is not Safety.SAFE:
            return fix
        return replace(fix, safety=Safety.UNSAFE, title=f"{fix.title}; unsafe because {UNSEEN}")

    def record_exports(self, path: str, names: Mapping[str, str]) -> bool:
        """Record what a file exports; return whether anything of it is new."""
        if is_torch_itself(path):
            return False  # its absolute names are names of torch already
        known = self.exports.get(path, {})
        if names.items() <= known.items():
            return False
        self.exports[path] = {**known, **names}
        return True

    def record_mentions(self, mentions: Iterable[Mention]) -> None:
        """Record uses of symbols."""
        self._uses.clear()
        self._derived.clear()
        self._assumptions.clear()
        for mention in mentions:
            self._mentions.setdefault(mention.symbol, []).append(mention)

    def find_uses(self, *symbols: str, kinds: Iterable[Kind] = Kind) -> list[Mention]:
        """Return all uses in the project of the symbols (or of names that rules note), of the given kinds."""
        key = (symbols, frozenset(kinds))
        if key not in self._uses:  # cached: rules ask for each finding, and the list may be long
            mentions = (mention for symbol in symbols for mention in self._mentions.get(symbol, ()))
            self._uses[key] = [mention for mention in mentions if mention.kind in key[1]]
        return self._uses[key]

    def derive_from_uses(self, symbol: str, make: Callable[[list[Mention]], T]) -> T:
        """Return what ``make`` makes of all uses of a symbol, computed once as long as no more uses are known."""
        uses = self.find_uses(symbol)
        if (symbol, make) not in self._derived:
            self._derived[symbol, make] = make(uses)
        found: T = self._derived[symbol, make]
        return found

    def create_assumption(self, symbols: tuple[str, ...], kinds: frozenset[Kind]) -> Assumption:
        """Return the present answer of `find_uses`, to compare it with a later one."""
        key = (symbols, kinds)
        if key not in self._assumptions:
            found = repr(Project.find_uses(self, *symbols, kinds=kinds)).encode("utf-8", "surrogatepass")
            self._assumptions[key] = Assumption(symbols, kinds, blake2b(found, digest_size=16).digest())
        return self._assumptions[key]

    def is_unchanged(self, assumed: Iterable[Assumption]) -> bool:
        """Return whether all answers are still those that were assumed."""
        return all(one == self.create_assumption(one.symbols, one.kinds) for one in assumed)

    def find_spellings(
        self, *sought: Sought, beside: str, among: Sequence[str] | None = None
    ) -> list[tuple[str, int]]:
        """Return the files, except ``beside``, whose text has all words and expressions of one of ``sought``.

        Each comes with the 1-based line of the first expression. The words are plain text and searched first. If
        ``among`` is given, only these files are searched.
        """
        return self._search.find_spellings(sought, beside, among)

    def search_unread_files(self, expressions: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
        """Yield the first match of each of the regular ``expressions`` in each file of the tree that is not checked.

        The keys of ``expressions`` are suffixes of files, with a space around each (`" .cc .cpp "`). A match is a
        displayed path, a 1-based line, and the text. Files that are excluded from the check are searched as well.
        """
        key = tuple(f"{suffixes}\0{expression}" for suffixes, expression in expressions.items())
        return iter(self._search_elsewhere(key))

    def _search_elsewhere(self, key: SearchKey) -> list[tuple[str, int, str]]:
        if key not in self._elsewhere:
            if self._unread is None:
                known = self._is_read_by_rules
                self._unread = list_unread_files(self._root, known) if self._root else []
            expressions = dict(one.split("\0", 1) for one in key)
            self._elsewhere[key] = list(search_unread_files(self._unread, expressions))
        return self._elsewhere[key]

    def list_searches(self) -> tuple[SearchKey, ...]:
        """Return the searches in files that are not checked, so far."""
        return tuple(self._elsewhere)

    def digest_search(self, key: SearchKey) -> bytes:
        """Return a digest of what such a search finds."""
        found = repr(self._search_elsewhere(key)).encode("utf-8", "surrogatepass")
        return blake2b(found, digest_size=16).digest()

    def _is_read_by_rules(self, path: str) -> bool:
        """Return whether rules read the file; of files in other languages they only see torch's runtime."""
        return path in self._paths and (language_of(path) is None or kind_of(path) is not None)

    def create_links(self, path: str) -> ProjectLinks:
        """Return the links of the names that the file at ``path`` imports from other files of the project."""
        return ProjectLinks(self, path)

    def has_module(self, name: str) -> bool:
        """Return whether a module or a package of the project has this name, whatever is above it."""
        return name in self._modules

    def find_headers(self, spelled: str) -> list[str]:
        """Return the files that ``#include <a/b.h>`` may mean, wherever they lie; ``spelled`` is a normalized path."""
        return self._modules.find_headers(spelled)

    def find_modules(self, parts: list[str]) -> list[str]:
        """Return the files that an absolute import of the module ``parts`` may mean, wherever they lie."""
        return [path for group in self.group_modules(parts).values() for path in group]

    def group_modules(self, parts: list[str]) -> Mapping[str, list[str]]:
        """Return the files of `find_modules` by the folder that they are imported from."""
        return self._modules.group_modules(parts)


def is_torch_itself(path: str) -> bool:
    """Return whether the file belongs to the sources of torch."""
    top, inside, _ = path.rpartition(f"{os.sep}torch{os.sep}")
    return bool(inside) and os.path.exists(os.path.join(top, "torch", "_jit_internal.py"))
