"""The smallest text edits that turn the code of one libcst tree into that of another.

Nodes that both trees share, with the same text, are anchors. Where the text between two anchors differs, there is an
edit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile

import libcst as cst

from torchmigrate.model.findings import Edit, Span

from .region import Region, spans_of


def edits(region: Region, module: cst.Module) -> Iterator[Edit]:
    """Yield the edits of the file that turn the region's module into ``module``."""
    before, after = region.text, module.code.encode()
    end = Span(len(before), len(before)), Span(len(after), len(after))
    old_end, new_end = 0, 0
    for old, new in [*_anchors(region, after, spans_of(module)), end]:
        if before[old_end : old.start] != after[new_end : new.start]:
            gap = _trimmed(before, after, Span(old_end, old.start), Span(new_end, new.start))
            edit = _edit(region, gap[0], after[gap[1].start : gap[1].end].decode())
            yield from _with_gap_of_its_own(region, edit)
        old_end, new_end = old.end, new.end


def _edit(region: Region, span: Span, text: str) -> Edit:
    """Return the edit of the file for one of the region, without the line break put after the file's last line."""
    shift = region.span.start - len(region.before)
    start, end = span.start + shift, span.end + shift
    if start > region.span.end:
        return Edit(region.span.end, region.span.end, "\n" + text.removesuffix("\n"))
    if end > region.span.end:
        return Edit(start, region.span.end, text.removesuffix("\n"))
    return Edit(start, end, text)


def _with_gap_of_its_own(region: Region, edit: Edit) -> Iterator[Edit]:
    """Yield an insertion of whole lines apart from the blank line after it, which several insertions can share."""
    lines = edit.text.splitlines(keepends=True)
    blank = lines[-1] if len(lines) > 1 else ""
    before = edit.start - len(blank)
    is_insertion = edit.start == edit.end and region.span.start <= before
    if (
        blank.endswith("\n")
        and not blank.strip()
        and is_insertion
        and region.source.text.startswith(blank.encode(), before)
    ):
        yield Edit(before, before, blank + edit.text.removesuffix(blank).removesuffix(blank))
        yield Edit(edit.start, edit.start, blank)
    else:
        yield edit


def _anchors(region: Region, after: bytes, spans: Mapping[cst.CSTNode, Span]) -> Iterator[tuple[Span, Span]]:
    """Yield the spans before and after of the outermost shared nodes, in order."""
    shared = [(spans[node], span) for node, span in region.spans.items() if node in spans]
    old_end, new_end = 0, 0
    for new, old in sorted(shared, key=lambda pair: (pair[0].start, -pair[0].end)):
        if new.start < new_end or old.start < old_end or new.start == new.end:
            continue
        if region.text[old.start : old.end] == after[new.start : new.end]:
            yield old, new
            old_end, new_end = old.end, new.end


def _trimmed(before: bytes, after: bytes, old: Span, new: Span) -> tuple[Span, Span]:
    """Return the gap without the whole lines, and then the white space, that both texts begin and end with.

    At the end only blank lines and comments are cut off, unless one text has nothing else: a dedented statement
    may end with a line that stays the same, and a bracket on such a line could close another one than before.
    """
    one, other = before[old.start : old.end], after[new.start : new.end]
    start = _common(one.splitlines(keepends=True), other.splitlines(keepends=True))
    one, other = one[start:], other[start:]
    end = _common(one.splitlines(keepends=True)[::-1], other.splitlines(keepends=True)[::-1])
    if end < min(len(one), len(other)) or _depth(one[: len(one) - end]) != _depth(other[: len(other) - end]):
        end = _common(_ending(one), _ending(other))
    one, other = one[: len(one) - end], other[: len(other) - end]
    blank = _common(_characters(one, one.lstrip()), _characters(other, other.lstrip()))
    one, other = one[blank:], other[blank:]
    tail = _common(_characters(one, one.rstrip())[::-1], _characters(other, other.rstrip())[::-1])
    while tail and other[: len(other) - tail].endswith((b"\\", b"\\\r")):  # a backslash needs its line break
        tail -= 1
    return (
        Span(old.start + start + blank, old.end - end - tail),
        Span(new.start + start + blank, new.end - end - tail),
    )


def _depth(text: bytes) -> int:
    """Return how many more brackets a text opens than it closes."""
    return sum(map(text.count, (b"(", b"[", b"{"))) - sum(map(text.count, (b")", b"]", b"}")))


def _ending(text: bytes) -> list[bytes]:
    """Return the blank lines and comments at the end of a text, the last one first."""
    lines = text.splitlines(keepends=True)[::-1]
    return [*takewhile(lambda line: not line.strip() or line.lstrip().startswith(b"#"), lines)]


def _characters(text: bytes, stripped: bytes) -> list[bytes]:
    """Return the bytes that were stripped off one end of a text."""
    length = len(text) - len(stripped)
    white = text[:length] if text.endswith(stripped) else text[len(stripped) :]
    return [white[index : index + 1] for index in range(length)]


def _common(one: list[bytes], other: list[bytes]) -> int:
    """Return the number of bytes in the common prefix of two lists of lines."""
    return sum(
        len(line) for line, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    )
