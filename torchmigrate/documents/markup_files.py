"""Markdown and reStructuredText: the commands in blocks of code, between backquotes, and behind prompts."""

from __future__ import annotations

import re

from torchmigrate.documents import shell_commands
from torchmigrate.documents.reference_reader import ReferenceReader

FENCE = re.compile(
    r"^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(?P<fence>```+|~~~+)[ \t]*(?P<language>[\w+-]*)[^\n`]*\n"
    r"(?P<body>.*?)(?:^[ \t>]*(?P=fence)[`~]*[ \t]*\r?$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_INLINE = re.compile(
    r"(?:(?<!`)`(?P<quoted>[^`\n]*\b(?:install|add|docker)\b[^`\n]*)`(?!`)"
    r"|^[ \t>]*(?:[-*+][ \t]+)?\$[ \t]+(?P<prompted>[^`\n]*\b(?:install|add)\b[^`\n]*)$)",
    re.MULTILINE,
)
_RST_BLOCK = re.compile(
    r"^(?P<indent>[ \t]*)(?:\.\.[ \t]+(?:code|code-block|sourcecode|prompt|parsed-literal)::[ \t]*(?P<language>[\w+-]*)[^\n]*"
    r"|(?!\.\.[ \t])[^\n]*::[ \t]*)\r?\n"
    r"(?P<options>(?:(?P=indent)[ \t]+:[\w-]+:[^\n]*\n)*)"
    r"(?P<body>(?:[ \t]*\r?\n|(?P=indent)[ \t]+[^\n]*(?:\n|\Z))*)",
    re.MULTILINE,
)
_RST_INLINE = re.compile(r"``(?P<quoted>[^`\n]*\b(?:install|add|docker)\b[^`\n]*)``")
_OTHER_LANGUAGE = re.compile(
    r"python3?|py|pycon|json|ya?ml|toml|diff|c|cpp|js|ini|html|xml|text|log|output", re.IGNORECASE
)
"""The languages of blocks that hold no commands."""


def read_markdown(reader: ReferenceReader) -> None:
    """Read a Markdown file."""
    at = 0
    for match in FENCE.finditer(reader.view):
        _read_inline(reader, _INLINE, at, match.start())
        if not _OTHER_LANGUAGE.fullmatch(match["language"]):
            shell_commands.read_commands(reader, *match.span("body"))
        elif match["language"].lower() in ("yaml", "yml"):
            reader.read_loose_text(*match.span("body"))
        at = match.end()
    _read_inline(reader, _INLINE, at, len(reader.view))
    reader.read_modules(0, len(reader.view))


def read_rst(reader: ReferenceReader) -> None:
    """Read a reStructuredText file."""
    at = 0
    for match in _RST_BLOCK.finditer(reader.view):
        _read_inline(reader, _RST_INLINE, at, match.start("body"))
        if not _OTHER_LANGUAGE.fullmatch(match["language"] or ""):
            shell_commands.read_commands(reader, *match.span("body"))
        at = match.end()
    _read_inline(reader, _RST_INLINE, at, len(reader.view))
    reader.read_modules(0, len(reader.view))


def _read_inline(reader: ReferenceReader, pattern: re.Pattern[str], start: int, end: int) -> None:
    """Read the commands that a pattern finds in running text, as its last group."""
    reader.fixed = "the surrounding sentence may mention the version"
    for match in pattern.finditer(reader.view, start, end):
        shell_commands.read_commands(reader, *match.span(match.lastgroup or 0))
    reader.fixed = ""
