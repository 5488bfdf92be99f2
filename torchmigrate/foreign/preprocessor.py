"""The preprocessor's lines in a C++ source: what it leaves out, and the headers that it includes."""

from __future__ import annotations

import re

_DIRECTIVE = re.compile(rb"[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b")
_DEAD = re.compile(rb"^[ \t]*#[ \t]*if[ \t]+(?:0|false)[ \t]*(?://[^\n]*|/\*[^\n]*)?\r?$", re.MULTILINE)
_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*(?:include|import)[ \t]*[\"<]([^\">\n]+)[\">]", re.MULTILINE)


def blank_disabled_code(text: bytes) -> bytes:
    """Replace what ``#if 0`` disables by blanks, so that offsets stay the same."""
    if not _DEAD.search(text):
        return text
    lines, dead, depth = text.splitlines(keepends=True), -1, 0
    for index, line in enumerate(lines):
        directive = _DIRECTIVE.match(line)
        name = directive[1] if directive else b""
        if name.startswith(b"if"):
            depth += 1
            if dead < 0 and _DEAD.match(line):
                dead = depth
                continue
        if depth == dead and name in (b"else", b"elif", b"endif"):
            dead = -1
        depth -= name == b"endif"
        if dead > 0:
            lines[index] = re.sub(rb"[^\r\n]", b" ", line)
    return b"".join(lines) if dead < 0 else text


def find_headers(text: bytes) -> list[str]:
    """Return the headers that a source includes, as they are spelled."""
    return [name.decode("utf-8", "replace") for name in _INCLUDE.findall(text)]
