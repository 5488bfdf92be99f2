"""Changes of single libcst statements: decorators removed, statements declared in a class, assignments annotated."""

from __future__ import annotations

import libcst as cst

from .comments import Line, lost, on_lines

Definition = cst.FunctionDef | cst.ClassDef


def undecorated(node: Definition, original: Definition, decorator: cst.BaseExpression) -> Definition:
    """Return ``node`` (``original`` with changes inside) without one decorator, whose comments stay."""
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
    """Return the class with ``new`` before the last statement in its body, and a blank line between unless they are alike.

    Comments directly above that last statement stay with it.
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


def annotated(node: cst.Assign, annotation: cst.BaseExpression) -> cst.AnnAssign:
    """Return the assignment to one target with an annotation."""
    # The annotation and the equals sign are cloned, so that they are no anchors for `torchmigrate.rewrite.difference`:
    # the statement becomes one of another kind.
    (only,) = node.targets
    equal = cst.AssignEqual(
        only.whitespace_before_equal.deep_clone(), only.whitespace_after_equal.deep_clone()
    )
    noted = cst.Annotation(annotation.deep_clone())
    return cst.AnnAssign(only.target, noted, node.value, equal=equal, semicolon=node.semicolon)
