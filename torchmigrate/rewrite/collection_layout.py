"""Line breaks in tuples, lists, sets and dictionaries on a line that a change has made too long."""

from __future__ import annotations

import re
from typing import get_args

import libcst as cst

from .new_code import NewCode, build_line_break

_Collection = cst.Tuple | cst.List | cst.Set | cst.Dict

_ALONE = re.compile(r"\s*(?:\w+=|[\w.]+ = |return )?[(\[{]\0[)\]}],?\s*(?:#.*)?")
"""A line that holds what stands between brackets here, at most the beginning of a statement or a keyword before it, and a
comma and a comment behind."""


def lay_out_collection(code: NewCode) -> tuple[cst.CSTNode, cst.CSTNode] | None:
    """Return a new collection that fills a line which is too long, and the same with an element on each line."""
    nodes = [node for kind in get_args(_Collection) for node in code.iter_new(kind)]
    for node in nodes:
        line = code.get_line(node)
        if len(line) <= code.limit or not node.elements:
            continue
        inside = code.get_code(node) if isinstance(node, cst.Tuple) else code.get_code(node)[1:-1]
        if _ALONE.fullmatch(line.replace(inside, "\0")) and (margin := code.find_margin(node)) is not None:
            return node, _break_lines(node, margin)
    return None


def _break_lines(node: _Collection, margin: str) -> _Collection:
    start, end = build_line_break(f"{margin}    "), build_line_break(margin)
    *others, last = node.elements
    made = [element.with_changes(comma=cst.Comma(whitespace_after=start)) for element in others]
    made.append(last.with_changes(comma=cst.Comma(whitespace_after=end)))
    if isinstance(node, cst.Tuple):
        opening = node.lpar[0].with_changes(whitespace_after=start)
        return node.with_changes(elements=made, lpar=[opening, *node.lpar[1:]])
    bracket = "lbracket" if isinstance(node, cst.List) else "lbrace"
    opening = getattr(node, bracket).with_changes(whitespace_after=start)
    return node.with_changes(elements=made, **{bracket: opening})
