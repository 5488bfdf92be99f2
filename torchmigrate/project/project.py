"""What is known about all checked files together: what they export, and where they use which symbol."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, TypeVar

from torchmigrate.gates.kinds import kind_of
from torchmigrate.gates.languages import language_of
from torchmigrate.model.findings import Fix
from torchmigrate.model.vocabulary import Kind, Safety
from torchmigrate.project import texts
from torchmigrate.project.mentions import Assumption
from torchmigrate.project.modules import module_path, stem
from torchmigrate.project.project_links import ProjectLinks
from torchmigrate.project.search import Search

if TYPE_CHECKING:
    from torchmigrate.project.mentions import Mention
    from torchmigrate.project.search import Sought

UNSEEN = "only these files are seen, and others of their project may depend on the old code"
"""Why a fix is unsafe whose ground is that nothing else in the project …"""


T = TypeVar("T")


class Incomplete(Exception):
    """A rule asks about a project of which not all files are known yet; it is asked again when they are."""


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
    ) -> None:
        self.is_whole = is_whole
        """Whether these are all files that can observe each other: what is not among them, nobody does."""
        self.is_complete = True
        """Whether all files have told what they are to tell."""
        self.expected: Project | None = None
        """What is asked in its place as long as they have not: `torchmigrate.project.expected`."""
        self.exports: dict[str, dict[str, str]] = {}
        """For each file, its global names that stand for something of torch's, with torch's name for it."""
        self._mentions: dict[str, list[Mention]] = {}
        self._by_stem: dict[str, list[str]] = {}
        self._uses: dict[tuple[tuple[str, ...], frozenset[Kind]], list[Mention]] = {}
        self._assumptions: dict[tuple[tuple[str, ...], frozenset[Kind]], Assumption] = {}
        self._paths = dict.fromkeys(paths)
        self._read = read
        self._shown = shown or {}
        self._root = root
        self._elsewhere: dict[tuple[str, ...], list[tuple[str, int, str]]] = {}
        self._search = Search(self._paths, self.text)
        self._once: dict[Hashable, Any] = {}
        for path in self._paths:
            self._by_stem.setdefault(stem(path), []).append(path)

    def __getstate__(self) -> dict[str, object]:
        """Without what was made once, which another process makes again faster than it is sent it."""
        return {**self.__dict__, "_once": {}}

    def shown(self, path: str) -> str:
        """How messages name one of the files: as what is found in it would be shown."""
        return self._shown.get(path, path)

    def inside(self, path: str) -> str:
        """Where a file lies in its repository, as far as that is known."""
        return os.path.relpath(path, self._root) if self._root else self.shown(path)

    def __contains__(self, path: str) -> bool:
        """Whether the file is one of those that are looked at."""
        return path in self._paths

    def folder(self, path: str) -> list[str]:
        """The files in one folder."""
        return [one for one in self._paths if os.path.dirname(one) == path]

    def asked(self) -> Project:
        """The project, for a rule that asks about it, or what is expected of it. Raises Incomplete."""
        if self.is_complete:
            return self
        if self.expected is None:
            raise Incomplete
        return self.expected

    def text(self, path: str) -> bytes | None:
        """The content of one of the files; None for any other, and for one that cannot be read."""
        if path not in self._paths or self._read is None:
            return None
        try:
            return self._read(path)
        except OSError:
            return None

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` gives, made once for each ``key``: what is asked of all files for each finding."""
        if key not in self._once:
            self._once[key] = make()
        found: T = self._once[key]
        return found

    def judged(self, fix: Fix) -> Fix:
        """A fix whose ground is what the project does, as it is right to offer: unsafe where not all of it is seen."""
        if self.is_whole or fix.safety is not Safety.SAFE:
            return fix
        return replace(fix, safety=Safety.UNSAFE, title=f"{fix.title}; unsafe because {UNSEEN}")

    def export(self, path: str, names: Mapping[str, str]) -> bool:
        """Records what a file exports; True if that was not known."""
        if is_torch_itself(path):
            return False  # its absolute names are torch's already
        known = self.exports.get(path, {})
        if names.items() <= known.items():
            return False
        self.exports[path] = {**known, **names}
        return True

    def mention(self, mentions: Iterable[Mention]) -> None:
        """Records uses."""
        self._uses.clear()
        self._assumptions.clear()
        for mention in mentions:
            self._mentions.setdefault(mention.symbol, []).append(mention)

    def uses(self, *symbols: str, kinds: Iterable[Kind] = Kind) -> list[Mention]:
        """Every use of the symbols (or of the names that rules note) in the project, of the given kinds."""
        key = (symbols, frozenset(kinds))
        if key not in self._uses:  # asked for each finding, and long where there are many
            mentions = (mention for symbol in symbols for mention in self._mentions.get(symbol, ()))
            self._uses[key] = [mention for mention in mentions if mention.kind in key[1]]
        return self._uses[key]

    def assumption(self, symbols: tuple[str, ...], kinds: frozenset[Kind]) -> Assumption:
        """What `uses` answers, to be compared with what it answers another time."""
        key = (symbols, kinds)
        if key not in self._assumptions:
            found = repr(Project.uses(self, *symbols, kinds=kinds)).encode("utf-8", "surrogatepass")
            self._assumptions[key] = Assumption(symbols, kinds, blake2b(found, digest_size=16).digest())
        return self._assumptions[key]

    def holds(self, assumed: Iterable[Assumption]) -> bool:
        """Whether everything is as it was assumed to be."""
        return all(one == self.assumption(one.symbols, one.kinds) for one in assumed)

    def spelling(
        self, *sought: Sought, beside: str, among: Sequence[str] | None = None
    ) -> list[tuple[str, int]]:
        """The files other than ``beside`` whose text has all the words and expressions of one of ``sought``.

        Each comes with the line of the first expression. The words are plain text and searched first. Only the files
        ``among`` are searched, where they are given.
        """
        return self._search.find(sought, beside, among)

    def elsewhere(self, expressions: Mapping[str, str]) -> Iterator[tuple[str, int, str]]:
        """The first match of each of the regular ``expressions`` in each text file of the tree that is not looked at.

        ``expressions`` are given by the suffixes of files, with a space around each (`" .cc .cpp "`). A match is a
        path as it is shown, a line, and the text. What is excluded from the check is searched as well.
        """
        key = tuple(f"{suffixes}\0{expression}" for suffixes, expression in expressions.items())
        if key not in self._elsewhere:
            self._elsewhere[key] = (
                list(texts.search(self._root, expressions, self._is_looked_into)) if self._root else []
            )
        return iter(self._elsewhere[key])

    def _is_looked_into(self, path: str) -> bool:
        """Whether names in the file are known: of other languages, only those of torch's runtime are."""
        return path in self._paths and (language_of(path) is None or kind_of(path) is not None)

    def links(self, path: str) -> ProjectLinks:
        """What names mean that the file at ``path`` imports from other files of the project."""
        return ProjectLinks(self, path)

    def headers(self, spelled: str) -> list[str]:
        """The files that ``#include <a/b.h>`` may mean, wherever they lie; ``spelled`` is normal."""
        suffix = os.sep + spelled.lstrip(f"{os.pardir}{os.sep}")
        return [path for path in self._by_stem.get(stem(spelled), ()) if path.endswith(suffix)]

    def modules(self, parts: list[str]) -> list[str]:
        """The files that an absolute import of the module ``parts`` may mean, wherever they lie."""
        suffix = os.sep + os.path.join(*parts)
        return [path for path in self._by_stem.get(parts[-1], ()) if module_path(path).endswith(suffix)]


def is_torch_itself(path: str) -> bool:
    """Whether the file belongs to the sources of torch."""
    top, inside, _ = path.rpartition(f"{os.sep}torch{os.sep}")
    return bool(inside) and os.path.exists(os.path.join(top, "torch", "_jit_internal.py"))
