"""The imports between files of a project, read from their bytes: parsing every file each time would take too long."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

from torchmigrate.model.qualified_names import COMPANION_PACKAGES
from torchmigrate.prefilter.foreign_languages import language_of
from torchmigrate.prefilter.identifiers import collect_identifiers
from torchmigrate.project.module_paths import get_module_path

_FROM = re.compile(
    rb"from[ \t\\\r\n]*(?<!\wfrom)((?:\.[ \t]*)*[\w.]*)[ \t\\\r\n]*(?<!\w)import\b"
    rb"[ \t\\\r\n]*(\((?:[^()#]|#[^\n]*)*\)|(?:[^\n\\;]|\\\r?\n)*)"
)
_IMPORT = re.compile(rb"import(?:(?<=[\s;\"]import)|(?<=\Aimport))[\s\\]+((?:[^\n\\;]|\\\r?\n)*)")
"""Also matches the names after ``from … import``, which may be modules."""
_STAR = re.compile(rb"import[\s\\]*\*")
_COMMENT = re.compile(rb"#[^\n]*")
_NAME = re.compile(rb"[^\W\d]\w*|\*")
_DOTTED = re.compile(rb"[^\W\d][\w.]*")


def find_star_imports(text: bytes) -> list[str]:
    """Return the modules from which a file may import everything: ``torch.nn``, ``..models``, ``.``."""
    if _STAR.search(text) is None:
        return []
    return [
        "".join(module.decode("utf-8", "replace").split())
        for module, listed in _FROM.findall(text)
        if b"*" in _NAME.findall(_COMMENT.sub(b"", listed))
    ]


class ImportPrefilter:
    """Finds the files that may import one of the ``exported`` names, which are given by the paths of their files."""

    def __init__(self, exported: Mapping[str, Collection[str]]) -> None:
        self._modules: dict[bytes, set[bytes]] = {}
        """The exported names of modules, by the last part of the module's name; "" is any package (``from . import``)."""
        headers = []
        for path, names in exported.items():
            if language_of(path) is not None:
                headers.append(os.path.basename(path))
                continue
            encoded = {name.encode() for name in names}
            self._modules.setdefault(os.fsencode(os.path.basename(get_module_path(path))), set()).update(
                encoded
            )
            if os.path.splitext(os.path.basename(path))[0] == "__init__":
                self._modules.setdefault(b"", set()).update(encoded)
        self._includes = _compile_include_pattern(headers)
        exporting: dict[bytes, set[bytes]] = {}
        for module, exports in self._modules.items():
            for export in exports:
                exporting.setdefault(export, set()).add(module)
        self._beside = min(self._modules, exporting, key=len)
        """The names by module or the modules by name, whichever has fewer keys and so is faster to search for."""

    def may_import(self, path: str, text: bytes) -> bool:
        """Return whether the file at ``path`` includes a header, or imports a name, its module, or everything in it."""
        if language_of(path) is not None:
            return self._includes is not None and self._includes.search(text) is not None
        if b"import" not in text or not self._may_be_spelled(text):
            return False
        return any(
            self._is_import_relevant(module, listed, text) for module, listed in _FROM.findall(text)
        ) or any(
            self._is_spelled(self._get_exports(dotted), text)
            for found in _IMPORT.findall(text)
            for dotted in _DOTTED.findall(found)
        )

    def _may_be_spelled(self, text: bytes) -> bool:
        return _STAR.search(text) is not None or any(
            one in text and any(other in text for other in others) for one, others in self._beside.items()
        )

    @property
    def modules(self) -> Collection[bytes]:
        """The last parts of the names of the exporting modules; "" for any package."""
        return self._modules.keys()

    def _get_exports(self, module: bytes) -> set[bytes]:
        """Return the exports of all modules that a dotted name may mean."""
        return self._modules.get(module.rpartition(b".")[2].strip(), set())

    def _is_import_relevant(self, module: bytes, listed: bytes, text: bytes) -> bool:
        """Return whether ``from module import …`` imports one of the names, one of the modules, or everything."""
        exported = self._get_exports(module)
        return any(
            bool(exported)
            if name == b"*"
            else name in exported or self._is_spelled(self._get_exports(name), text)
            for name in _NAME.findall(_COMMENT.sub(b"", listed))
        )

    def _is_spelled(self, names: set[bytes], text: bytes) -> bool:
        return bool(names) and not names.isdisjoint(collect_identifiers(text).all)


class ImportIndex:
    """The files by what their imports name, for many searches: each file is read once."""

    def __init__(self, paths: Iterable[str], read: Callable[[str], bytes]) -> None:
        self._by_module: dict[bytes, list[str]] = {}
        self._foreign: list[str] = []
        for path in paths:
            if language_of(path) is not None:
                self._foreign.append(path)
                continue
            try:
                text = read(path)
            except OSError:
                continue
            for module in set(_iter_modules(text)):
                self._by_module.setdefault(module, []).append(path)

    def find_candidates(self, modules: Iterable[bytes]) -> set[str]:
        """Return the files whose imports name one of the modules, as `ImportPrefilter.modules` has them, or are in another language."""
        return {*self._foreign, *(path for module in modules for path in self._by_module.get(module, ()))}


def _iter_modules(text: bytes) -> Iterator[bytes]:
    """Yield what an import may name as a module, by the last part of its name."""
    if b"import" not in text:
        return
    for module, listed in _FROM.findall(text):
        yield module.rpartition(b".")[2].strip()
        yield from _NAME.findall(_COMMENT.sub(b"", listed))
    for found in _IMPORT.findall(text):
        yield from (dotted.rpartition(b".")[2] for dotted in _DOTTED.findall(found))


class ImportedNames:
    """The pairs of a module's last name and a name imported from it, except from modules of torch and its companions."""

    _IMPORT = re.compile(
        rb"^[ \t]*from[ \t]+(?!(?:"
        + "|".join(("torch", *COMPANION_PACKAGES)).encode()
        + rb")\.)[.\w]*?(\w*)[ \t]+import[ \t]*(\([^)]*\)|[^\r\n;]*)",
        re.MULTILINE,
    )

    def __init__(self) -> None:
        self._names: set[tuple[bytes, bytes]] = set()

    def add_imports(self, text: bytes) -> None:
        """Add the ``from`` imports of one file."""
        for module, names in self._IMPORT.findall(text):
            self._names.update((module, name) for name in re.findall(rb"\w+|\*", names))

    def has_name(self, path: str, name: str, *, with_stars: bool) -> bool:
        """Return whether some file may import ``name`` from the module at ``path``, perhaps with a star."""
        module = os.fsencode(os.path.basename(get_module_path(path)))
        return (module, name.encode()) in self._names or (with_stars and (module, b"*") in self._names)


def _compile_include_pattern(headers: Collection[str]) -> re.Pattern[bytes] | None:
    """Return a pattern for an ``#include`` of one of the headers in any folder; None without headers."""
    if not headers:
        return None
    one = b"|".join(re.escape(os.fsencode(header)) for header in sorted(headers))
    expression = rb"^[ \t]*#[ \t]*(?:include|import)[ \t]*[\"<](?:[^\">\n]*/)?(?:" + one + rb")[\">]"
    return re.compile(expression, re.MULTILINE)
