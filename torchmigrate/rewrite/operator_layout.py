"""Parentheses and line breaks for ``and`` and ``or`` on a line that a change has made too long."""

from __future__ import annotations

import re

import libcst as cst

from .line_ends import is_multiline
from .new_code import NewCode, build_line_break

_AROUND = (cst.Return, cst.Assign, cst.AnnAssign, cst.If, cst.While, cst.Assert, cst.Lambda)
"""The nodes around an operation that formatters put into parentheses to break its line."""

_ELEMENTS = (cst.Arg, cst.BaseElement, cst.DictElement)


def lay_out_operators(code: NewCode) -> tuple[cst.BooleanOperation, cst.BooleanOperation] | None:
    """Return a new operation on a line that is too long, and the same with line breaks; None if there is none."""
    for node in code.iter_new(cst.BooleanOperation):
        own = code.get_code(node)
        if len(code.get_line(node)) <= code.limit or is_multiline(own):
            continue
        element = code.parents[node]
        if isinstance(element, _ELEMENTS) and not node.lpar and _has_own_lines(element, code):
            margin = code.find_margin(node)
            if margin is not None:
                return node, _break_before_operators(node, build_line_break(margin))
            continue
        # A line that ends with the arguments of a call is broken there.
        if (node.lpar or isinstance(code.parents[node], _AROUND)) and own.endswith("()"):
            margin = code.find_margin(node)
            if margin is not None:
                return node, _break_lines(node, margin, is_long=not code.fits_below(node, own))
    return None


def _has_own_lines(element: cst.CSTNode, code: NewCode) -> bool:
    """Return whether nothing but a comma and a comment stands on the lines of an element."""
    begins_line = code.get_line(element).lstrip().startswith(code.get_code(element))
    return begins_line and re.fullmatch(r",?\s*(?:#.*)?", code.get_code_behind(element)) is not None


def _break_lines(node: cst.BooleanOperation, margin: str, *, is_long: bool) -> cst.BooleanOperation:
    """Return the operation on lines of its own in parentheses; if it ``is_long``, each operand on one."""
    start, end = build_line_break(f"{margin}    "), build_line_break(margin)
    broken = _break_before_operators(node, start) if is_long else node
    *_, left = node.lpar or [cst.LeftParen()]
    right, *_ = node.rpar or [cst.RightParen()]
    return broken.with_changes(
        lpar=[*node.lpar[:-1], left.with_changes(whitespace_after=start)],
        rpar=[right.with_changes(whitespace_before=end), *node.rpar[1:]],
    )


def _break_before_operators(
    node: cst.BooleanOperation, space: cst.ParenthesizedWhitespace
) -> cst.BooleanOperation:
    left = node.left
    if (
        isinstance(left, cst.BooleanOperation)
        and not left.lpar
        and type(left.operator) is type(node.operator)
    ):
        left = _break_before_operators(left, space)
    operator = node.operator.with_changes(whitespace_before=space)
    return node.with_changes(left=left, operator=operator)
