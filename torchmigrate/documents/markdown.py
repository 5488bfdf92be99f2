"""The commands in Markdown: blocks of shell or Docker code, and commands between backticks."""

from __future__ import annotations

import re

from torchmigrate.documents import shell
from torchmigrate.documents.reader import Reader

_FENCE = re.compile(
    r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(?P<fence>```+|~~~+)[ \t]*(?P<language>[\w+-]*)[^\n`]*\n"
    r"(?P<body>.*?)(?:^[ \t>]*(?P=fence)[`~]*[ \t]*\r?$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_INLINE = re.compile(
    r"(?:(?<!`)`(?P<quoted>[^`\n]*\b(?:install|add|docker)\b[^`\n]*)`(?!`)"
    r"|^[ \t>]*(?:[-*+][ \t]+)?\$[ \t]+(?P<prompted>[^`\n]*\b(?:install|add)\b[^`\n]*)$)",
    re.MULTILINE,
)
"""A command between backticks, or behind a prompt."""
OTHER_LANGUAGES = frozenset(
    [
        "python",
        "py",
        "python3",
        "pycon",
        "json",
        "yaml",
        "yml",
        "toml",
        "diff",
        "c",
        "cpp",
        "js",
        "ini",
        "html",
        "xml",
        "text",
        "log",
        "output",
    ]
)
"""The languages of blocks that hold no commands."""


def read(reader: Reader) -> None:
    """Reads a whole file."""
    at = 0
    for match in _FENCE.finditer(reader.view):
        inline(reader, _INLINE, at, match.start())
        if match["language"].lower() not in OTHER_LANGUAGES:
            shell.commands(reader, *match.span("body"))
        elif match["language"].lower() in ("yaml", "yml"):
            reader.loose(*match.span("body"))
        at = match.end()
    inline(reader, _INLINE, at, len(reader.view))
    reader.modules(0, len(reader.view))


def inline(reader: Reader, pattern: re.Pattern[str], start: int, end: int) -> None:
    """Reads the commands in running text: what ``pattern`` finds as its group."""
    reader.fixed = "the sentence around it may speak of the version"
    for match in pattern.finditer(reader.view, start, end):
        if match.lastgroup:
            shell.commands(reader, *match.span(match.lastgroup))
    reader.fixed = ""
