"""The smallest text edits that turn the code of one libcst tree into that of another.

Nodes that both trees share, with the same text, are anchors. Where the text between two anchors differs, there is an
edit.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping
from itertools import takewhile

import libcst as cst

from torchmigrate.model.findings import Edit, Span

from .region import Region, collect_spans

_BEGINNING = r"(?!\s|[)\]}]|(?:else|elif|except|finally)\b)"
"""What no line begins with that only goes on with a statement."""


def find_edits(region: Region, module: cst.Module) -> Iterator[Edit]:
    """Yield the edits of the file that turn the region's module into ``module``."""
    before, after = region.text, module.code.encode()
    end = Span(len(before), len(before)), Span(len(after), len(after))
    old_end, new_end = 0, 0
    for old, new in [*_find_anchors(region, after, collect_spans(module)), end]:
        if before[old_end : old.start] != after[new_end : new.start]:
            gap = _trim_gap(before, after, Span(old_end, old.start), Span(new_end, new.start))
            edit = _map_edit(region, gap[0], after[gap[1].start : gap[1].end].decode())
            for part in _separate_statements(region, edit):
                yield from _separate_blank_line(region, part)
        old_end, new_end = old.end, new.end


def _map_edit(region: Region, span: Span, text: str) -> Edit:
    """Return the edit of the file for one of the region, without the line break put after the file's last line."""
    shift = region.span.start - len(region.before)
    start, end = span.start + shift, span.end + shift
    if start > region.span.end:
        return Edit(region.span.end, region.span.end, "\n" + text.removesuffix("\n"))
    if end > region.span.end:
        return Edit(start, region.span.end, text.removesuffix("\n"))
    return Edit(start, end, text)


def _separate_statements(region: Region, edit: Edit) -> Iterator[Edit]:
    """Yield an insertion of whole statements apart from the edit that changes the first line of the statement below them."""
    line = region.source.text.rfind(b"\n", 0, edit.start) + 1
    indent = region.source.text[line : edit.start].decode()
    old = region.source.text[edit.start : edit.end]
    is_at_first_line = bool(old) and b"\n" not in old and not indent.strip()
    beginnings = re.finditer(rf"\n{indent}{_BEGINNING}", edit.text) if is_at_first_line else ()
    for at in sorted((one.end() for one in beginnings), reverse=True):
        if _is_code(textwrap.dedent(indent + edit.text[:at])):
            yield Edit(edit.start, edit.start, edit.text[:at])
            yield Edit(edit.start, edit.end, edit.text[at:])
            return
    yield edit


def _is_code(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _separate_blank_line(region: Region, edit: Edit) -> Iterator[Edit]:
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


def _find_anchors(
    region: Region, after: bytes, spans: Mapping[cst.CSTNode, Span]
) -> Iterator[tuple[Span, Span]]:
    """Yield the spans before and after of the outermost shared nodes, in order."""
    shared = [(spans[node], span) for node, span in region.node_spans.items() if node in spans]
    old_end, new_end = 0, 0
    for new, old in sorted(shared, key=lambda pair: (pair[0].start, -pair[0].end)):
        if new.start < new_end or old.start < old_end or new.start == new.end:
            continue
        if region.text[old.start : old.end] == after[new.start : new.end]:
            yield old, new
            old_end, new_end = old.end, new.end


def _trim_gap(before: bytes, after: bytes, old: Span, new: Span) -> tuple[Span, Span]:
    """Return the gap without the whole lines, and then the white space, that both texts begin and end with.

    At the end only blank lines and comments are cut off, unless one text has nothing else: a dedented statement
    may end with a line that stays the same, and a bracket on such a line could close another one than before.
    """
    one, other = before[old.start : old.end], after[new.start : new.end]
    start = _count_common_bytes(one.splitlines(keepends=True), other.splitlines(keepends=True))
    one, other = one[start:], other[start:]
    end = _count_common_bytes(one.splitlines(keepends=True)[::-1], other.splitlines(keepends=True)[::-1])
    if end < min(len(one), len(other)) or _count_open_brackets(one[: len(one) - end]) != _count_open_brackets(
        other[: len(other) - end]
    ):
        end = _count_common_bytes(_get_trailing_lines(one), _get_trailing_lines(other))
    one, other = one[: len(one) - end], other[: len(other) - end]
    blank = _count_common_bytes(
        _get_stripped_bytes(one, one.lstrip()), _get_stripped_bytes(other, other.lstrip())
    )
    one, other = one[blank:], other[blank:]
    tail = _count_common_bytes(
        _get_stripped_bytes(one, one.rstrip())[::-1], _get_stripped_bytes(other, other.rstrip())[::-1]
    )
    while tail and other[: len(other) - tail].endswith((b"\\", b"\\\r")):  # a backslash needs its line break
        tail -= 1
    return (
        Span(old.start + start + blank, old.end - end - tail),
        Span(new.start + start + blank, new.end - end - tail),
    )


def _count_open_brackets(text: bytes) -> int:
    """Return how many more brackets a text opens than it closes."""
    return sum(map(text.count, (b"(", b"[", b"{"))) - sum(map(text.count, (b")", b"]", b"}")))


def _get_trailing_lines(text: bytes) -> list[bytes]:
    """Return the blank lines and comments at the end of a text, the last one first."""
    lines = text.splitlines(keepends=True)[::-1]
    return [*takewhile(lambda line: not line.strip() or line.lstrip().startswith(b"#"), lines)]


def _get_stripped_bytes(text: bytes, stripped: bytes) -> list[bytes]:
    """Return the bytes that were stripped off one end of a text."""
    length = len(text) - len(stripped)
    white = text[:length] if text.endswith(stripped) else text[len(stripped) :]
    return [white[index : index + 1] for index in range(length)]


def _count_common_bytes(one: list[bytes], other: list[bytes]) -> int:
    """Return the number of bytes in the common prefix of two lists of lines."""
    return sum(
        len(line) for line, _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    )
