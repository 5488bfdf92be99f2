"""Text search in the files of a project: a cached one in checked files, and one in files that no rule reads."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from torchmigrate.project.file_search import InputFile, find_files, read_file
from torchmigrate.project.folders import is_within

Sought = tuple[tuple[str, ...], tuple[str, ...]]
"""Words and regular expressions to search a file for."""

_MAX_KEPT_BYTES = 8 << 20
"""The bytes of texts that are kept for the next search."""

_LARGEST = 1_000_000
"""The size in bytes above which a file is taken for data, and skipped."""


class TextSearch:
    """Searches files several times, and keeps all results and a bounded amount of texts."""

    def __init__(self, paths: Collection[str], read: Callable[[str], bytes | None]) -> None:
        self._paths = paths
        self._read = read
        self._found: dict[tuple[tuple[Sought, ...], tuple[str, ...] | None], list[tuple[str, int]]] = {}
        self._having: dict[str, set[str]] = {}
        """The files that contain a word: rules search for one name in several ways."""
        self._texts: dict[str, bytes] = {}
        self._bytes_left = _MAX_KEPT_BYTES

    def __getstate__(self) -> dict[str, object]:
        """Return the state without the texts, which another process reads faster than it receives them."""
        return {**self.__dict__, "_texts": {}, "_bytes_left": _MAX_KEPT_BYTES}

    def find_spellings(
        self, sought: tuple[Sought, ...], beside: str, among: Sequence[str] | None
    ) -> list[tuple[str, int]]:
        """Return paths and 1-based lines; see `torchmigrate.project.project_facts.Project.find_spellings`."""
        key = (sought, None if among is None else tuple(among))
        if key not in self._found:
            paths = self._select_by_first_word([words for words, _ in sought]) if among is None else among
            self._found[key] = list(self._iter_spellings(sought, paths))
        beside = beside and os.path.abspath(beside)
        return [one for one in self._found[key] if one[0] != beside]

    def _iter_spellings(self, sought: tuple[Sought, ...], paths: Iterable[str]) -> Iterator[tuple[str, int]]:
        encoded = [([*map(os.fsencode, words)], [*map(os.fsencode, regexes)]) for words, regexes in sought]
        for path in paths:
            text = self.read_text(path)
            if text is None:
                continue
            for words, expressions in encoded:
                if not all(word in text for word in words):
                    continue
                # Compiling an expression takes longer than searching most files, so the words are searched first.
                found = [re.search(expression, text) for expression in expressions]
                if all(found) and found[0] is not None:
                    yield path, text.count(b"\n", 0, found[0].start()) + 1
                    break

    def _select_by_first_word(self, choices: Sequence[tuple[str, ...]]) -> Collection[str]:
        """Return the files that contain the first word of any of the ``choices``, or all if one has no words."""
        if not all(choices):
            return self._paths
        words = {words[0] for words in choices}
        new = {word: set[str]() for word in words - self._having.keys()}
        having = [(os.fsencode(word), paths) for word, paths in new.items()]
        for path in self._paths if new else ():
            text = self.read_text(path) or b""
            for word, paths in having:
                if word in text:
                    paths.add(path)
        self._having |= new
        found = set[str]().union(*(self._having[word] for word in words))
        return [path for path in self._paths if path in found]

    def read_text(self, path: str) -> bytes | None:
        """Return the content of a file, or None if it cannot be read."""
        text = self._texts.get(path)
        if text is None and (text := self._read(path)) is not None and len(text) <= self._bytes_left:
            self._bytes_left -= len(text)
            self._texts[path] = text
        return text


def create_import_pattern(package: str) -> str:
    """Return an expression that matches an import of a package: at the start of a line, or of a string of a notebook's JSON."""
    return rf'(?m)(?:^|\\n|")[ \t]*(?:import|from)\s+{package}\b'


def list_unread_files(root: str, is_known: Callable[[str], bool]) -> list[InputFile]:
    """Return the files below ``root`` for whose path ``is_known`` is false."""
    here = os.getcwd()
    shown = os.path.relpath(root, here) if is_within(root, here) or is_within(here, root) else root
    return [file for file in find_files([shown], wanted=lambda path: True).inputs if not is_known(file.place)]


def search_unread_files(
    files: Iterable[InputFile], expressions: Mapping[str, str]
) -> Iterator[tuple[str, int, str]]:
    """Yield the matches in files; see `torchmigrate.project.project_facts.Project.search_unread_files`."""
    compiled = {suffixes: re.compile(expression.encode()) for suffixes, expression in expressions.items()}
    for file in files:
        suffix = f" {os.path.splitext(file.path)[1].lower() or os.path.basename(file.path).lower()} "
        chosen = [expression for suffixes, expression in compiled.items() if suffix in suffixes]
        if not chosen:
            continue
        try:
            data = read_file(file.path) if os.path.getsize(file.path) <= _LARGEST else b""
        except OSError:
            continue
        for expression in chosen:
            if match := expression.search(data):
                line = data.count(b"\n", 0, match.start()) + 1
                yield file.path, line, match.group().decode("utf-8", "replace")
