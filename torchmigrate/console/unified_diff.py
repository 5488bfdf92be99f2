"""Unified diffs of bytes, as `torchmigrate fix` prints them, and as `patch` and `git apply -p0` read them."""

from __future__ import annotations

import difflib
import os
from bisect import bisect_left
from collections import Counter

from torchmigrate.console.terminal import escape_line


def create_unified_diff(path: str, before: bytes, after: bytes) -> bytes:
    """Return the diff from ``before`` to ``after``. Lines end at ``\\n`` only; every byte of them is kept."""
    old, new = _split_lines(before), _split_lines(after)
    name = _quote_path(path)
    made = [b"--- %s\n+++ %s\n" % (name, name)]
    for group in _AnchoredMatcher(old, new).get_grouped_opcodes():
        made.append(
            b"@@ -%s +%s @@\n"
            % (_format_range(group[0][1], group[-1][2]), _format_range(group[0][3], group[-1][4]))
        )
        for tag, start, end, new_start, new_end in group:
            made += [(b" " if tag == "equal" else b"-") + line for line in old[start:end]]
            made += [b"+" + line for line in new[new_start:new_end] if tag != "equal"]
    if len(made) == 1:
        return b""
    return b"".join(
        line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in made
    )


class _AnchoredMatcher(difflib.SequenceMatcher[bytes]):
    """A matcher that pairs lines which occur once before and once after, in the same order.

    What lies between two of them is compared by itself, so that thousands of equal lines cost no more than their number.
    """

    def __init__(self, old: list[bytes], new: list[bytes]) -> None:
        super().__init__(a=[], b=[])
        self.a, self.b = old, new

    def get_matching_blocks(self) -> list[difflib.Match]:
        found: list[difflib.Match] = []
        at = new_at = 0
        for anchor, new_anchor in [*_find_anchors(self.a, self.b), (len(self.a), len(self.b))]:
            between = difflib.SequenceMatcher(
                None, self.a[at:anchor], self.b[new_at:new_anchor], autojunk=False
            )
            blocks = [(at + m.a, new_at + m.b, m.size) for m in between.get_matching_blocks()]
            for start, new_start, size in [*blocks, (anchor, new_anchor, anchor < len(self.a))]:
                last = found[-1] if found else difflib.Match(0, 0, 0)
                if (start, new_start) == (last.a + last.size, last.b + last.size):
                    found[-1:] = [difflib.Match(last.a, last.b, last.size + size)]
                elif size:
                    found.append(difflib.Match(start, new_start, size))
            at, new_at = anchor + 1, new_anchor + 1
        return [*found, difflib.Match(len(self.a), len(self.b), 0)]


def _find_anchors(old: list[bytes], new: list[bytes]) -> list[tuple[int, int]]:
    """Return the longest sequence of line pairs that are unique on both sides and in the same order."""
    seen, new_seen = Counter(old), Counter(new)
    places = {line: number for number, line in enumerate(new) if new_seen[line] == 1}
    pairs = [(i, places[line]) for i, line in enumerate(old) if seen[line] == 1 and line in places]
    ends: list[int] = []  # of the row of each length that ends earliest
    last: list[tuple[int, tuple[int, int]]] = []
    before: dict[tuple[int, int], tuple[int, int] | None] = {}
    for pair in pairs:
        length = bisect_left(ends, pair[1])
        before[pair] = last[length - 1][1] if length else None
        ends[length : length + 1] = [pair[1]]
        last[length : length + 1] = [(pair[1], pair)]
    row: list[tuple[int, int]] = []
    reached = last[-1][1] if last else None
    while reached is not None:
        row.append(reached)
        reached = before[reached]
    return row[::-1]


def _format_range(start: int, end: int) -> bytes:
    """Return a range of lines as a hunk counts them: from 1, and an empty range from the line before it."""
    length = end - start
    if length == 1:
        return b"%d" % (start + 1)
    return b"%d,%d" % (start + (length > 0), length)


def escape_diff(diff: bytes, *, color: bool) -> str:
    """Return a diff as text that cannot control the terminal."""
    import click

    colors = {"+": "green", "-": "red", "@": "cyan"}
    lines = [escape_line(line) for line in diff.decode("utf-8", "surrogateescape").split("\n")[:-1]]
    if color:
        lines = [
            click.style(line, fg=colors.get(line[:1]), bold=line.startswith(("+++ ", "--- ")) or None)
            for line in lines
        ]
    return "".join(line + "\n" for line in lines)


def _split_lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


_ESCAPES = {ord(sign): rf"\{letter}" for sign, letter in zip('\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True)}


def _quote_path(path: str) -> bytes:
    """Return a path in quotes, as git writes it, if it could end its line or begin a string."""
    name = os.fsencode(path)
    if path.isprintable() and '"' not in path and "\\" not in path.replace(os.sep, "/"):
        return name
    shown = (_ESCAPES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in name)
    return f'"{"".join(shown)}"'.encode()
