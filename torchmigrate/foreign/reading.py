"""What a file in another language names of torch's runtime: each language has its reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from torchmigrate.foreign import commands, cpp, dotted, files, packages, swift, triton
from torchmigrate.foreign.grammars import NoGrammar
from torchmigrate.foreign.use import UNREAD, ForeignUse
from torchmigrate.gates import languages
from torchmigrate.model.findings import Span

if TYPE_CHECKING:
    from torchmigrate.foreign.tokens import Token

_CODE: dict[str, Callable[[bytes], tuple[list[ForeignUse], list[Token]]]] = {
    "cpp": cpp.read,
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
    "nuget": packages.nuget,
    "pods": packages.pods,
    "gomod": packages.gomod,
    "cmake": packages.cmake,
    "commands": commands.archived,
    "triton": triton.read,
}
_FETCHING = ("cmake", "commands", "gradle")


@dataclass(frozen=True)
class Reading:
    """What one file gave."""

    uses: Sequence[ForeignUse] = ()
    files: Sequence[tuple[str, Span]] = ()
    """The model files that it names, each with its place."""
    classes: Sequence[str] = ()
    """The Objective-C classes that it implements."""


def read(path: str, text: bytes) -> Reading:
    """Reads one file. Raises SourceError if it is malformed."""
    language = languages.language_of(path)
    if language is None or not languages.concerns(language, text):
        return Reading()
    if language in _CODE:
        try:
            uses, found = _CODE[language](text)
        except NoGrammar:
            return Reading([ForeignUse(UNREAD, Span(*languages.place(language, text) or (0, 0)))])
        return _of_code(language, uses, found)
    view = text.decode("latin-1")
    uses = [*_LINES[language](view)]
    if language in _FETCHING:
        uses += commands.archives(language, view)
    return Reading(_in_order(uses), [(use.file, use.span) for use in uses if use.file])


def _of_code(language: str, uses: Iterable[ForeignUse], found: Sequence[Token]) -> Reading:
    named = [(name, Span(token.start, token.end)) for name, token in files.named_files(found)]
    classes = list(cpp.implemented(found)) if language == "cpp" else []
    return Reading(_in_order(uses), named, classes)


def _in_order(uses: Iterable[ForeignUse]) -> list[ForeignUse]:
    return sorted(set(uses), key=lambda use: (use.span, use.name))
