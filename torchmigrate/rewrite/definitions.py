"""Functions and classes: a decorator taken off, a statement added to a class."""

from __future__ import annotations

import libcst as cst

from .comments import Line, lost, on_lines

Definition = cst.FunctionDef | cst.ClassDef


def undecorated(node: Definition, original: Definition, decorator: cst.BaseExpression) -> Definition:
    """The definition ``node``, which was ``original``, without one decorator, whose comments stay on lines of their own."""
    index = next(i for i, found in enumerate(original.decorators) if found.decorator is decorator)
    decorators = [*node.decorators]
    gone = decorators.pop(index)
    kept = [*gone.leading_lines, *on_lines(lost(original.decorators[index], gone.leading_lines))]
    if index < len(decorators):
        following = decorators[index]
        decorators[index] = following.with_changes(leading_lines=[*kept, *following.leading_lines])
        return node.with_changes(decorators=decorators)
    return node.with_changes(
        decorators=decorators, lines_after_decorators=[*kept, *node.lines_after_decorators]
    )


def declared(node: cst.ClassDef, new: Line, *, is_among_its_like: bool) -> cst.ClassDef:
    """The class with ``new`` before the last statement of its body, and a blank line between unless they are alike.

    Comments that stand directly before that last statement are its own.
    """
    body = cst.ensure_type(node.body, cst.IndentedBlock)
    *before, following = body.body
    following = cst.ensure_type(following, cst.SimpleStatementLine)
    gap = [*following.leading_lines]
    own = next((i for i, line in reversed([*enumerate(gap, 1)]) if line.comment is None), 0)
    space = [] if is_among_its_like else [cst.EmptyLine(indent=False)]
    new = new.with_changes(leading_lines=gap[:own])
    following = following.with_changes(leading_lines=[*space, *gap[own:]])
    return node.with_changes(body=body.with_changes(body=[*before, new, following]))
