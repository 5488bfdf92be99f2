"""The commands in reStructuredText: literal blocks, blocks of shell or Docker code, and commands between backquotes."""

from __future__ import annotations

import re

from torchmigrate.documents import markdown, shell
from torchmigrate.documents.reader import Reader

_BLOCK = re.compile(
    r"^(?P<indent>[ \t]*)(?:\.\.[ \t]+(?:code|code-block|sourcecode|prompt|parsed-literal)::[ \t]*(?P<language>[\w+-]*)[^\n]*"
    r"|(?!\.\.[ \t])[^\n]*::[ \t]*)\r?\n"
    r"(?P<options>(?:(?P=indent)[ \t]+:[\w-]+:[^\n]*\n)*)"
    r"(?P<body>(?:[ \t]*\r?\n|(?P=indent)[ \t]+[^\n]*(?:\n|\Z))*)",
    re.MULTILINE,
)
_INLINE = re.compile(r"``(?P<code>[^`\n]*\b(?:install|add|docker)\b[^`\n]*)``")


def read(reader: Reader) -> None:
    """Reads a whole file."""
    at = 0
    for match in _BLOCK.finditer(reader.view):
        markdown.inline(reader, _INLINE, at, match.start("body"))
        if (match["language"] or "").lower() not in markdown.OTHER_LANGUAGES:
            shell.commands(reader, *match.span("body"))
        at = match.end()
    markdown.inline(reader, _INLINE, at, len(reader.view))
    reader.modules(0, len(reader.view))
