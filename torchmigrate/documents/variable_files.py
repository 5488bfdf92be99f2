"""CMake, Nix and ``docker-bake.hcl``: the variables that these files set, and the URLs and images that they name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.documents import shell_commands
from torchmigrate.documents.reference_reader import ReferenceReader

_CMAKE_SET = re.compile(
    r"\b(?:set|list)[ \t]*\([ \t]*(?:APPEND[ \t]+)?(?:ENV\{)?(?P<name>\w+)\}?\s+"
    r"(?P<value>\"[^\"]*\"|[^\")\s]+(?:[ \t]+\d[\w.+;-]*)*)",
    re.IGNORECASE,
)
_CMAKE_COMMENT = re.compile(r"#[^\n]*")
_NIX_BINDING = re.compile(
    r"(?P<name>[A-Za-z_]\w*)[ \t]*=[ \t]*(?P<value>\"[^\"\n]*\"|(?P<list>\[[^\[\]]*\]))[ \t]*;"
)
_NIX_COMMENT = re.compile(r"#[^\n]*|/\*.*?\*/", re.DOTALL)
_NIX_TEXT = re.compile(r"(?<!')''(?!')(?P<text>.*?)(?<!')''(?!')", re.DOTALL)
_HCL_TOKEN = re.compile(
    r"(?P<comment>#[^\n]*|//[^\n]*|/\*.*?\*/)"
    r"|\bvariable[ \t]+\"(?P<variable>\w+)\"[ \t]*\{[^{}]*?\bdefault[ \t]*=[ \t]*(?P<default>\"[^\"\n]*\")"
    r"|(?P<name>[A-Za-z_]\w*)\"?[ \t]*=[ \t]*(?P<value>\"[^\"\n]*\")"
    r"|\"[^\"\n]*\"",
    re.DOTALL,
)


def read_cmake(reader: ReferenceReader) -> None:
    """Read the architectures that a CMake project compiles for, and the archives of libtorch that it downloads."""
    comments = [match.span() for match in _CMAKE_COMMENT.finditer(reader.view)]
    for match in _find_outside_comments(comments, _CMAKE_SET, reader.view):
        reader.define_variable(match["name"], *match.span("value"))
    reader.read_loose_text(0, len(reader.view))


def read_nix(reader: ReferenceReader) -> None:
    """Read the wheels that a Nix expression fetches, and the architectures that it compiles for."""
    view = reader.view
    comments = [match.span() for match in _NIX_COMMENT.finditer(view)]
    for match in _find_outside_comments(comments, _NIX_BINDING, view):
        if match["list"] is None:
            reader.define_variable(match["name"], *match.span("value"))
        elif match["name"] == "cudaCapabilities":
            for entry in re.finditer(r"\"[^\"\n]*\"", match["list"]):
                reader.define_variable(
                    "TORCH_CUDA_ARCH_LIST", *(match.start("list") + at for at in entry.span())
                )
    for text in _NIX_TEXT.finditer(view):
        shell_commands.read_commands(reader, *text.span("text"))
    _read_outside_comments(reader, comments)


def read_hcl(reader: ReferenceReader) -> None:
    """Read the arguments that the targets of a bake file pass to a Dockerfile."""
    comments: list[tuple[int, int]] = []
    for match in _HCL_TOKEN.finditer(reader.view):
        if match["comment"]:
            comments.append(match.span())
        elif match["variable"]:
            reader.define_variable(match["variable"], *match.span("default"))
        elif match["name"]:
            reader.define_variable(match["name"], *match.span("value"))
    _read_outside_comments(reader, comments)


def _find_outside_comments(
    comments: list[tuple[int, int]], pattern: re.Pattern[str], view: str
) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern that do not begin in a comment."""
    for match in pattern.finditer(view):
        if not any(start <= match.start() < end for start, end in comments):
            yield match


def _read_outside_comments(reader: ReferenceReader, comments: list[tuple[int, int]]) -> None:
    """Read the URLs and images outside of comments."""
    at = 0
    for start, end in [*comments, (len(reader.view), len(reader.view))]:
        reader.read_loose_text(at, start)
        at = end
