"""``devcontainer.json``, which is JSON with comments: the image, its variables, and the commands that run in it."""

from __future__ import annotations

import re

from torchmigrate.documents import shell_commands
from torchmigrate.documents.expanded_values import strip_quotes
from torchmigrate.documents.reference_reader import ReferenceReader
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort

_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|(?P<string>\"(?:\\.|[^\"\\\n])*\")(?P<key>\s*:)?"
    r"|(?P<open>[\[{])|(?P<close>[\]}])",
    re.DOTALL,
)
_VARIABLES = ("args", "containerEnv", "remoteEnv")


def read_devcontainer(reader: ReferenceReader) -> None:
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
                _read_value(reader, [*outer, key], span)
        elif match["open"]:
            outer.append(f"{key}[" if match["open"] == "[" else key)
        elif match["close"] and outer and outer.pop().endswith("Command["):
            shell_commands.read_listed_command(reader, listed)
        listed = [] if match["open"] or match["close"] else listed


def _read_value(reader: ReferenceReader, path: list[str], quoted: Span) -> None:
    """Read a string, by the ``path`` of keys that lead to it."""
    key, span = path[-1], strip_quotes(reader.view, *quoted)
    if any(one.endswith("Command") for one in path):
        shell_commands.read_commands(reader, *span)
    elif any(one in _VARIABLES for one in path[:-1]):
        reader.define_variable(key, *span)
        reader.read_loose_text(*span)
    elif key == "image":
        reader.environment.of_image = True
        reader.add_reference(Sort.PYTHON, "python", span, reader.begin_unit(), option="FROM")
        reader.read_loose_text(*span)
