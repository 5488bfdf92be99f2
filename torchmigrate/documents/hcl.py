"""``docker-bake.hcl``: what its targets hand to a Dockerfile. They are reported, never edited."""

from __future__ import annotations

import re

from torchmigrate.documents.reader import Reader
from torchmigrate.model.findings import Span

_TOKEN = re.compile(
    r"(?P<comment>#[^\n]*|//[^\n]*|/\*.*?\*/)"
    r"|\bvariable[ \t]+\"(?P<variable>\w+)\"[ \t]*\{[^{}]*?\bdefault[ \t]*=[ \t]*(?P<default>\"[^\"\n]*\")"
    r"|(?P<name>[A-Za-z_]\w*)\"?[ \t]*=[ \t]*(?P<value>\"[^\"\n]*\")"
    r"|\"[^\"\n]*\"",
    re.DOTALL,
)


def read(reader: Reader) -> None:
    """Reads a whole file."""
    reader.fixed = "each target of a bake file makes an image of its own"
    comments: list[Span] = []
    for match in _TOKEN.finditer(reader.view):
        if match["comment"]:
            comments.append(Span(*match.span()))
        elif match["variable"]:
            reader.define(match["variable"], *match.span("default"))
        elif match["name"]:
            reader.define(match["name"], *match.span("value"))
    at = 0
    for start, end in [*comments, (len(reader.view), len(reader.view))]:
        reader.loose(at, start)
        at = end
