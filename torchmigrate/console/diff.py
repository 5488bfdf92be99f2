"""Unified diffs of bytes: what `torchmigrate fix` prints, and what `patch` and `git apply -p0` take."""

from __future__ import annotations

import os

from torchmigrate.console.terminal import shown


def unified(path: str, before: bytes, after: bytes) -> bytes:
    """The diff from ``before`` to ``after``. Lines end at ``\\n`` only; every byte of them is kept."""
    import difflib

    name = _quoted(path)
    lines = difflib.diff_bytes(difflib.unified_diff, _lines(before), _lines(after), name, name)
    return b"".join(
        line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines
    )


def readable(diff: bytes, *, color: bool) -> str:
    """A diff for a terminal, which it cannot control."""
    import click

    colors = {"+": "green", "-": "red", "@": "cyan"}
    lines = [shown(line) for line in diff.decode("utf-8", "surrogateescape").split("\n")[:-1]]
    if color:
        lines = [
            click.style(line, fg=colors.get(line[:1]), bold=line.startswith(("+++ ", "--- ")) or None)
            for line in lines
        ]
    return "".join(line + "\n" for line in lines)


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


_ESCAPES = {ord(sign): rf"\{letter}" for sign, letter in zip('\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True)}


def _quoted(path: str) -> bytes:
    """A path that could end its line or begin a string, in quotes, as git writes it."""
    name = os.fsencode(path)
    if path.isprintable() and '"' not in path and "\\" not in path.replace(os.sep, "/"):
        return name
    shown = (_ESCAPES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in name)
    return f'"{"".join(shown)}"'.encode()
