"""Comments of merged statements: each moves to the list element that its statement has become."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from .changes import Merge, Template, parts_of
from .comments import Line
from .parts import mark_of

_INSIDE = cst.SimpleWhitespace("  ")


@dataclass(frozen=True)
class Remarks:
    """The comments of one merged statement, above it and at the end of its line."""

    above: Sequence[cst.Comment] = ()
    behind: cst.Comment | None = None


def remarks_of(line: cst.SimpleStatementLine, *, is_first: bool) -> Remarks:
    """Return the comments that move with a statement; those above the first statement stay there."""
    lines = () if is_first else line.leading_lines
    above = [empty.comment.deep_clone() for empty in lines if empty.comment is not None]
    trailing = line.trailing_whitespace.comment
    return Remarks(above, trailing and trailing.deep_clone())


def without_remarks(line: Line, *, is_first: bool) -> Line:
    """Return the line without the comments that move with its statement."""
    lines = line.leading_lines if is_first else [one for one in line.leading_lines if one.comment is None]
    bare = line.with_changes(leading_lines=lines)
    if not isinstance(bare, cst.SimpleStatementLine):
        return bare
    trailing = bare.trailing_whitespace.with_changes(comment=None, whitespace=cst.SimpleWhitespace(""))
    return bare.with_changes(trailing_whitespace=trailing)


def marks_of(merge: Merge) -> Iterator[str]:
    """Yield for each statement the placeholder of the last part of the template that comes from it."""
    for statement in merge.statements:
        inside = set(ast.walk(statement))
        parts = merge.new.parts.items()
        *_, last = (
            name
            for name, part in parts
            if isinstance(part, Template) and not inside.isdisjoint(parts_of(part))
        )
        yield mark_of(last)


def annotated(module: cst.Module, remarks: Mapping[str, Remarks]) -> cst.Module:
    """Return a template's tree, whose list has one element a line, with comments on elements by placeholder."""
    return cst.ensure_type(module.visit(_Annotating(remarks)), cst.Module)


class _Annotating(cst.CSTTransformer):
    def __init__(self, remarks: Mapping[str, Remarks]) -> None:
        super().__init__()
        self._remarks = remarks

    def leave_List(self, original_node: cst.List, updated_node: cst.List) -> cst.List:  # noqa: N802
        nodes = updated_node.elements
        if not any(isinstance(node.value, cst.Name) and node.value.value in self._remarks for node in nodes):
            return updated_node
        commas = [cst.ensure_type(node.comma, cst.Comma) for node in nodes]
        spaces = [
            updated_node.lbracket.whitespace_after,
            *(comma.whitespace_after for comma in commas[:-1]),
            updated_node.rbracket.whitespace_before,
        ]
        named = [self._remarks.get(cst.ensure_type(node.value, cst.Name).value, Remarks()) for node in nodes]
        around = zip([Remarks(), *named], spaces, [*named, Remarks()], strict=True)
        spaces = [_commented(space, before.behind, after.above) for before, space, after in around]
        elements = [
            node.with_changes(comma=comma.with_changes(whitespace_after=space))
            for node, comma, space in zip(
                nodes, commas, [*spaces[1:-1], commas[-1].whitespace_after], strict=True
            )
        ]
        return updated_node.with_changes(
            lbracket=updated_node.lbracket.with_changes(whitespace_after=spaces[0]),
            elements=elements,
            rbracket=updated_node.rbracket.with_changes(whitespace_before=spaces[-1]),
        )


def _commented(
    space: cst.BaseParenthesizableWhitespace, behind: cst.Comment | None, above: Sequence[cst.Comment]
) -> cst.BaseParenthesizableWhitespace:
    """Return a line break with a comment at the end of the line before it, and comments above the line after it."""
    if behind is None and not above:
        return space
    broken = cst.ensure_type(space, cst.ParenthesizedWhitespace)
    first = broken.first_line
    if behind is not None:
        first = first.with_changes(whitespace=_INSIDE, comment=behind)
    lines = [cst.EmptyLine(indent=True, whitespace=broken.last_line, comment=one) for one in above]
    return broken.with_changes(first_line=first, empty_lines=[*broken.empty_lines, *lines])
