"""Unified diffs of bytes: what `torchmigrate fix` prints, and what `patch` and `git apply -p0` take."""

from __future__ import annotations

import os

from torchmigrate.terminal import escape


def unified(path: str, before: bytes, after: bytes) -> bytes:
    """The diff from ``before`` to ``after``. Lines end at ``\\n`` only; every byte of them is kept."""
    import difflib

    name = os.fsencode(_quoted(path))
    lines = difflib.diff_bytes(difflib.unified_diff, _lines(before), _lines(after), name, name)
    return b"".join(
        line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines
    )


def readable(diff: bytes, *, color: bool) -> str:
    """A diff for a terminal, which it cannot control."""
    import click

    colors = {"+": "green", "-": "red", "@": "cyan"}
    lines = [escape(line) for line in diff.decode("utf-8", "surrogateescape").split("\n")[:-1]]
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


def _quoted(path: str) -> str:
    """A path that could end its line or begin a string, in quotes, as git writes it."""
    if path.isprintable() and '"' not in path and "\\" not in path.replace(os.sep, "/"):
        return path
    return '"' + escape(path.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")) + '"'
