"""The reader for each other language, which lists the names of torch's runtime in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from torchmigrate.foreign import (
    command_uses,
    cpp,
    dotted_names,
    model_file_names,
    package_files,
    swift,
    triton_config,
)
from torchmigrate.foreign.foreign_use import UNREAD, ForeignUse
from torchmigrate.foreign.grammars import NoGrammar
from torchmigrate.model.findings import Span
from torchmigrate.prefilter import foreign_languages

if TYPE_CHECKING:
    from torchmigrate.foreign.grammar_tokens import ForeignToken
    from torchmigrate.semantics.module_links import ModuleLinks

_CODE: dict[str, Callable[[bytes], tuple[list[ForeignUse], list[ForeignToken]]]] = {
    "java": partial(dotted_names.find_jvm_uses, "java"),
    "kotlin": partial(dotted_names.find_jvm_uses, "kotlin"),
    "swift": swift.find_swift_uses,
    "rust": dotted_names.find_rust_uses,
    "csharp": dotted_names.find_csharp_uses,
    "go": dotted_names.find_go_uses,
}
_LINES: dict[str, Callable[[str], Iterator[ForeignUse]]] = {
    "gradle": package_files.find_gradle_packages,
    "catalog": package_files.find_catalog_packages,
    "cargo": package_files.find_crates,
    "maven": package_files.find_maven_packages,
    "cmake": package_files.find_cmake_packages,
    "commands": command_uses.find_packaged_files,
    "triton": triton_config.find_triton_uses,
}
"""The readers of files without a grammar; for all other languages, `package_files.find_packages`."""
_FETCHING = ("cmake", "commands", "gradle")


@dataclass(frozen=True)
class ForeignContents:
    """The names of torch's runtime, and of model files, in one file in another language."""

    uses: Sequence[ForeignUse] = ()
    files: Sequence[tuple[str, Span]] = ()
    """The names of model files, each with its span."""
    classes: Sequence[str] = ()
    """The Objective-C classes that the file implements."""
    exports: Mapping[str, str] = field(default_factory=dict)
    """The names of torch that a C++ source exports to the files that include it."""


def read_contents(path: str, text: bytes, links: ModuleLinks | None = None) -> ForeignContents:
    """Read one file; ``links`` lead to the headers that it includes. Raises SourceError if the file is malformed."""
    language = foreign_languages.language_of(path)
    if language is None:
        return ForeignContents()
    included: dict[str, str] = {}
    if language == "cpp" and links is not None:
        for header in cpp.find_headers(text):
            included |= links.included_names(header)
    if not included and not foreign_languages.may_concern_rules(language, text):
        return ForeignContents()
    if language in foreign_languages.MODULES:
        try:
            return _read_code(language, text, included)
        except NoGrammar:
            return ForeignContents(
                [ForeignUse(UNREAD, Span(*foreign_languages.find_trigger(language, text) or (0, 0)))]
            )
    # In Latin-1 each byte is one character, so that offsets into the view are byte offsets.
    view = text.decode("latin-1")
    find = _LINES.get(language) or partial(package_files.find_packages, language)
    uses = [*find(view)]
    if language in _FETCHING:
        uses += command_uses.find_archives(language, view)
    return ForeignContents(_sort_uses(uses), [(use.file, use.span) for use in uses if use.file])


def _read_code(language: str, text: bytes, included: Mapping[str, str]) -> ForeignContents:
    exports: Mapping[str, str] = {}
    if language == "cpp":
        uses, found, exports = cpp.find_cpp_uses(text, included)
    else:
        uses, found = _CODE[language](text)
    named = [(name, Span(token.start, token.end)) for name, token in model_file_names.find_model_files(found)]
    classes = list(cpp.find_implemented_classes(found)) if language == "cpp" else []
    return ForeignContents(_sort_uses(uses), named, classes, exports)


def _sort_uses(uses: Iterable[ForeignUse]) -> list[ForeignUse]:
    return sorted(set(uses), key=lambda use: (use.span, use.name))
