"""The reader for each other language, which lists the names of torch's runtime in a file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from torchmigrate.foreign import (
    command_uses,
    cpp,
    dotted_names,
    model_file_names,
    package_files,
    preprocessor,
)
from torchmigrate.foreign.comment_styles import blank_comments
from torchmigrate.foreign.extension_uses import find_extension_uses
from torchmigrate.foreign.foreign_use import UNREAD, ForeignUse
from torchmigrate.foreign.grammar_tokens import STRING, WORD, ForeignToken, find_arguments, tokenize_source
from torchmigrate.foreign.grammars import NoGrammar
from torchmigrate.model.findings import Span
from torchmigrate.prefilter import foreign_languages
from torchmigrate.semantics.module_links import ModuleLinks

_SWIFT_MODULE = re.compile(r"LibTorch(?:_Lite)?(?:_Nightly)?|Libtorch_?Lite")
_SWIFT_PACKAGE = re.compile(r"(?i)^(?:https?://|git@).*/libtorch[\w.-]*$|(?:^|/)libtorch[\w-]*\.xcframework$")
_TRITON_FIELD = r"(?:^|[\s{{,;\"']){name}\s*:\s*(?P<value>[\"'](?P<text>[^\"']*)[\"'])"
_TRITON_DEFAULT = "model.pt"
"""The file that Triton's backend loads by default.

Source: https://github.com/triton-inference-server/pytorch_backend, README.md.
"""


def _find_swift_uses(text: bytes) -> tuple[list[ForeignUse], list[ForeignToken]]:
    """Return the uses of LibTorch in a Swift source, and its tokens. Raises NoGrammar.

    These are its modules, its packages, and classes that an Objective-C++ file may implement.
    """
    found = tokenize_source("swift", text)
    uses: list[ForeignUse] = []
    for index, token in enumerate(found):
        behind = found[index + 1] if index + 1 < len(found) else None
        if token.kind == STRING:
            if _SWIFT_PACKAGE.search(token.text):
                uses.append(ForeignUse("LibTorch", Span(token.start, token.end)))
        elif token.text == "import" and behind is not None and _SWIFT_MODULE.fullmatch(behind.text):
            uses.append(ForeignUse(f"import {behind.text}", Span(behind.start, behind.end), calls=True))
        elif token.kind == WORD and token.text[:1].isupper() and behind is not None and behind.text == "(":
            names = {name for name, _ in model_file_names.find_model_files(found)}
            file = model_file_names.find_given_file(find_arguments(found, index + 1), found) or (
                names.pop() if len(names) == 1 else ""
            )
            uses.append(ForeignUse(f"class {token.text}", Span(token.start, token.end), file, calls=True))
    return uses, found


def _find_triton_uses(view: str) -> Iterator[ForeignUse]:
    """Find the platform or backend in a configuration of Triton Inference Server that runs TorchScript, unless the model file is of another kind."""
    text = blank_comments("triton", view)
    named = _find_triton_field(text, "default_model_filename")
    file = named["text"] if named else _TRITON_DEFAULT
    if file.endswith((".py", ".pt2")):
        return
    for name, value in (("platform", "pytorch_libtorch"), ("backend", "pytorch")):
        found = _find_triton_field(text, name)
        if found is not None and found["text"]:
            if found["text"] == value:
                span = Span(text.index(name, found.start()), found.end("value"))
                yield ForeignUse(f'{name}: "{value}"', span, file, calls=True)
            return


def _find_triton_field(text: str, name: str) -> re.Match[str] | None:
    return re.search(_TRITON_FIELD.format(name=name), text, re.MULTILINE)


_CODE: dict[str, Callable[[bytes], tuple[list[ForeignUse], list[ForeignToken]]]] = {
    "java": partial(dotted_names.find_jvm_uses, "java"),
    "kotlin": partial(dotted_names.find_jvm_uses, "kotlin"),
    "swift": _find_swift_uses,
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
    "triton": _find_triton_uses,
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
    methods: Mapping[str, Span] = field(default_factory=dict)
    """The methods that a C++ source calls, each with its first call."""
    exports: Mapping[str, str] = field(default_factory=dict)
    """The names of torch that a C++ source exports to the files that include it."""


def read_contents(path: str, text: bytes, links: ModuleLinks | None = None) -> ForeignContents:
    """Read one file; ``links`` lead to the headers that it includes. Raises SourceError if the file is malformed."""
    language = foreign_languages.language_of(path)
    if language is None:
        return ForeignContents()
    included: dict[str, str] = {}
    if language == "cpp" and links is not None:
        for header in preprocessor.find_headers(text):
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
        uses += find_extension_uses(text, found)
    else:
        uses, found = _CODE[language](text)
    named = [(name, Span(token.start, token.end)) for name, token in model_file_names.find_model_files(found)]
    classes = list(cpp.find_implemented_classes(found)) if language == "cpp" else []
    methods = dict(cpp.find_called_methods(found)) if language == "cpp" else {}
    return ForeignContents(_sort_uses(uses), named, classes, methods, exports)


def _sort_uses(uses: Iterable[ForeignUse]) -> list[ForeignUse]:
    return sorted(set(uses), key=lambda use: (use.span, use.name))
