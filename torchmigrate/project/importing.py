"""Which files take what others export, by their text alone: asked of every file of a project, whenever a name comes to mean more."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping

from torchmigrate.gates.languages import language_of
from torchmigrate.gates.words import words_of
from torchmigrate.project.modules import module_path

_FROM = re.compile(
    rb"from[ \t\\\r\n]*(?<!\wfrom)((?:\.[ \t]*)*[\w.]*)[ \t\\\r\n]*(?<!\w)import\b"
    rb"[ \t\\\r\n]*(\((?:[^()#]|#[^\n]*)*\)|(?:[^\n\\;]|\\\r?\n)*)"
)
_IMPORT = re.compile(rb"import(?:(?<=[\s;\"]import)|(?<=\Aimport))[\s\\]+((?:[^\n\\;]|\\\r?\n)*)")
"""Also the names behind ``from … import``, which may be modules."""
_STAR = re.compile(rb"import[\s\\]*\*")
_COMMENT = re.compile(rb"#[^\n]*")
_NAME = re.compile(rb"[^\W\d]\w*|\*")
_DOTTED = re.compile(rb"[^\W\d][\w.]*")


class Importing:
    """Knows the files that may take one of the names, which are given by the files that export them."""

    def __init__(self, exported: Mapping[str, Collection[str]]) -> None:
        self._modules: dict[bytes, set[bytes]] = {}
        """What the modules of a name export; those without one are packages, as ``from . import`` means them."""
        headers = []
        for path, names in exported.items():
            if language_of(path) is not None:
                headers.append(os.path.basename(path))
                continue
            encoded = {name.encode() for name in names}
            self._modules.setdefault(os.fsencode(os.path.basename(module_path(path))), set()).update(encoded)
            if os.path.splitext(os.path.basename(path))[0] == "__init__":
                self._modules.setdefault(b"", set()).update(encoded)
        self._includes = _includes(headers)
        exporting: dict[bytes, set[bytes]] = {}
        for module, exports in self._modules.items():
            for export in exports:
                exporting.setdefault(export, set()).add(module)
        self._beside = min(self._modules, exporting, key=len)
        """Modules with their names, or names with their modules: of which there are fewer, which is faster to look for."""

    def concerns(self, path: str, text: bytes) -> bool:
        """Whether the file at ``path`` includes a header, or imports a name, its module, or all that is in there."""
        if language_of(path) is not None:
            return self._includes is not None and self._includes.search(text) is not None
        if b"import" not in text or not self._may_be_spelled(text):
            return False
        return any(self._takes(module, listed, text) for module, listed in _FROM.findall(text)) or any(
            self._is_spelled(self._of(dotted), text)
            for found in _IMPORT.findall(text)
            for dotted in _DOTTED.findall(found)
        )

    def _may_be_spelled(self, text: bytes) -> bool:
        return _STAR.search(text) is not None or any(
            one in text and any(other in text for other in others) for one, others in self._beside.items()
        )

    def _of(self, module: bytes) -> set[bytes]:
        """What is exported by the modules that a dotted name may mean."""
        return self._modules.get(module.rpartition(b".")[2].strip(), set())

    def _takes(self, module: bytes, listed: bytes, text: bytes) -> bool:
        """Whether ``from module import …`` takes one of the names or one of the modules, or hands all of them on."""
        exported = self._of(module)
        return any(
            bool(exported) if name == b"*" else name in exported or self._is_spelled(self._of(name), text)
            for name in _NAME.findall(_COMMENT.sub(b"", listed))
        )

    def _is_spelled(self, names: set[bytes], text: bytes) -> bool:
        return bool(names) and not names.isdisjoint(words_of(text).all)


def _includes(headers: Collection[str]) -> re.Pattern[bytes] | None:
    """Matches an ``#include`` of one of the headers, whatever folder it names; None for no header."""
    if not headers:
        return None
    one = b"|".join(re.escape(os.fsencode(header)) for header in sorted(headers))
    expression = rb"^[ \t]*#[ \t]*(?:include|import)[ \t]*[\"<](?:[^\">\n]*/)?(?:" + one + rb")[\">]"
    return re.compile(expression, re.MULTILINE)
