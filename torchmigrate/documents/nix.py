"""Nix expressions: the wheels that they fetch, and what they compile for. They are reported, never edited."""

from __future__ import annotations

import re

from torchmigrate.documents import shell
from torchmigrate.documents.reader import Reader

_BINDING = re.compile(
    r"(?P<name>[A-Za-z_]\w*)[ \t]*=[ \t]*(?P<value>\"[^\"\n]*\"|(?P<list>\[[^\[\]]*\]))[ \t]*;"
)
_COMMENT = re.compile(r"#[^\n]*|/\*.*?\*/", re.DOTALL)
_TEXT = re.compile(r"(?<!')''(?!')(?P<text>.*?)(?<!')''(?!')", re.DOTALL)
_CAPABILITIES = "TORCH_CUDA_ARCH_LIST"


def read(reader: Reader) -> None:
    """Reads a whole file."""
    reader.fixed = "what a Nix expression fetches is known by its hash"
    view = reader.view
    comments = [match.span() for match in _COMMENT.finditer(view)]
    for match in _BINDING.finditer(view):
        if any(start <= match.start() < end for start, end in comments):
            continue
        if match["list"] is None:
            reader.define(match["name"], *match.span("value"))
        elif match["name"] == "cudaCapabilities":
            for entry in re.finditer(r"\"[^\"\n]*\"", match["list"]):
                reader.define(_CAPABILITIES, *(match.start("list") + at for at in entry.span()))
    for text in _TEXT.finditer(view):
        shell.commands(reader, *text.span("text"))
    at = 0
    for start, end in [*comments, (len(view), len(view))]:
        reader.loose(at, start)
        at = end
