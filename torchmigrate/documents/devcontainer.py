"""``devcontainer.json``, which is JSON with comments: the image, its variables, and the commands that run in it."""

from __future__ import annotations

import re

from torchmigrate.documents import shell
from torchmigrate.documents.reader import Reader
from torchmigrate.documents.values import unquoted
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort

_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|(?P<string>\"(?:\\.|[^\"\\\n])*\")(?P<key>\s*:)?"
    r"|(?P<open>[\[{])|(?P<close>[\]}])",
    re.DOTALL,
)
_VARIABLES = ("args", "containerEnv", "remoteEnv")


def read(reader: Reader) -> None:
    """Read a devcontainer.json."""
    outer: list[str] = []
    key = ""
    listed: list[Span] = []
    for match in _TOKEN.finditer(reader.view):
        if match["key"]:
            key = match["string"].strip('"')
        elif match["string"]:
            span = Span(*match.span("string"))
            if outer and outer[-1].endswith("["):
                listed.append(span)
            else:
                _value(reader, [*outer, key], span)
        elif match["open"]:
            outer.append(f"{key}[" if match["open"] == "[" else key)
        elif match["close"] and outer and outer.pop().endswith("Command["):
            shell.listed(reader, listed)
        listed = [] if match["open"] or match["close"] else listed


def _value(reader: Reader, path: list[str], quoted: Span) -> None:
    """Read a string, by the ``path`` of keys that lead to it."""
    key, span = path[-1], unquoted(reader.view, *quoted)
    if any(one.endswith("Command") for one in path):
        shell.commands(reader, *span)
    elif any(one in _VARIABLES for one in path[:-1]):
        reader.define(key, *span)
        reader.loose(*span)
    elif key == "image":
        reader.environment.of_image = True
        reader.add(Sort.PYTHON, "python", span, reader.unit(), option="FROM")
        reader.loose(*span)
