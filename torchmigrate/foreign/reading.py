"""The reader of each other language, which lists what a file names of torch's runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from torchmigrate.foreign import commands, cpp, dotted, files, packages, swift, triton
from torchmigrate.foreign.grammars import NoGrammar
from torchmigrate.foreign.use import UNREAD, ForeignUse
from torchmigrate.gates import languages
from torchmigrate.model.findings import Span

if TYPE_CHECKING:
    from torchmigrate.foreign.tokens import Token
    from torchmigrate.semantics.links import Links

_CODE: dict[str, Callable[[bytes], tuple[list[ForeignUse], list[Token]]]] = {
    "java": partial(dotted.jvm, "java"),
    "kotlin": partial(dotted.jvm, "kotlin"),
    "swift": swift.read,
    "rust": dotted.rust,
    "csharp": dotted.csharp,
    "go": dotted.go,
}
_LINES: dict[str, Callable[[str], Iterator[ForeignUse]]] = {
    "gradle": packages.gradle,
    "catalog": packages.catalog,
    "cargo": packages.cargo,
    "maven": packages.maven,
    "cmake": packages.cmake,
    "commands": commands.archived,
    "triton": triton.read,
}
"""The readers of files without a grammar; for all other languages, `packages.find_packages`."""
_FETCHING = ("cmake", "commands", "gradle")


@dataclass(frozen=True)
class Reading:
    """What one file in another language names."""

    uses: Sequence[ForeignUse] = ()
    files: Sequence[tuple[str, Span]] = ()
    """The names of model files, each with its span."""
    classes: Sequence[str] = ()
    """The Objective-C classes that the file implements."""
    exports: Mapping[str, str] = field(default_factory=dict)
    """The names of torch that a C++ source exports to the files that include it."""


def read(path: str, text: bytes, links: Links | None = None) -> Reading:
    """Read one file; ``links`` lead to the headers that it includes. Raises SourceError if the file is malformed."""
    language = languages.language_of(path)
    if language is None:
        return Reading()
    included: dict[str, str] = {}
    if language == "cpp" and links is not None:
        for header in cpp.headers(text):
            included |= links.included(header)
    if not included and not languages.concerns(language, text):
        return Reading()
    if language in languages.MODULES:
        try:
            return _of_code(language, text, included)
        except NoGrammar:
            return Reading([ForeignUse(UNREAD, Span(*languages.place(language, text) or (0, 0)))])
    # In Latin-1 each byte is one character, so that offsets into the view are byte offsets.
    view = text.decode("latin-1")
    find = _LINES.get(language) or partial(packages.find_packages, language)
    uses = [*find(view)]
    if language in _FETCHING:
        uses += commands.archives(language, view)
    return Reading(_in_order(uses), [(use.file, use.span) for use in uses if use.file])


def _of_code(language: str, text: bytes, included: Mapping[str, str]) -> Reading:
    exports: Mapping[str, str] = {}
    if language == "cpp":
        uses, found, exports = cpp.read(text, included)
    else:
        uses, found = _CODE[language](text)
    named = [(name, Span(token.start, token.end)) for name, token in files.named_files(found)]
    classes = list(cpp.implemented(found)) if language == "cpp" else []
    return Reading(_in_order(uses), named, classes, exports)


def _in_order(uses: Iterable[ForeignUse]) -> list[ForeignUse]:
    return sorted(set(uses), key=lambda use: (use.span, use.name))
