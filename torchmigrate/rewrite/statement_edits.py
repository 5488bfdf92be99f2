"""Changes of single libcst statements: decorators, parameters, statements declared in a class, annotated assignments."""

from __future__ import annotations

import libcst as cst

from .comment_rescue import Line, find_lost_comments, put_on_lines
from .expression_edits import keep_comments, strip_comma, strip_line_break

Definition = cst.FunctionDef | cst.ClassDef


def remove_decorator(node: Definition, original: Definition, decorator: cst.BaseExpression) -> Definition:
    """Return ``node`` (``original`` with changes inside) without one decorator, whose comments stay."""
    index = next(i for i, found in enumerate(original.decorators) if found.decorator is decorator)
    decorators = [*node.decorators]
    gone = decorators.pop(index)
    kept = [
        *gone.leading_lines,
        *put_on_lines(find_lost_comments(original.decorators[index], gone.leading_lines)),
    ]
    if index < len(decorators):
        following = decorators[index]
        decorators[index] = following.with_changes(leading_lines=[*kept, *following.leading_lines])
        return node.with_changes(decorators=decorators)
    return node.with_changes(
        decorators=decorators, lines_after_decorators=[*kept, *node.lines_after_decorators]
    )


def add_parameters(node: cst.FunctionDef, made: cst.FunctionDef) -> cst.FunctionDef:
    """Return a method with the parameters of ``made`` behind those that can be given by position, laid out like these."""
    *others, last = node.params.params
    comma = others[-1].comma if others else None
    plain = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    between = strip_comma(comma) if isinstance(comma, cst.Comma) else plain
    *new, end = made.params.params
    if isinstance(last.comma, cst.Comma):
        end = end.with_changes(comma=strip_comma(last.comma))
        before = keep_comments(between, last.comma.whitespace_after)
    else:
        end = end.with_changes(whitespace_after_param=strip_line_break(last.whitespace_after_param))
        before = keep_comments(between, last.whitespace_after_param)
    last = last.with_changes(comma=before, whitespace_after_param=cst.SimpleWhitespace(""))
    parameters = [*others, last, *(one.with_changes(comma=between) for one in new), end]
    return node.with_changes(params=node.params.with_changes(params=parameters))


def declare_in_class(node: cst.ClassDef, new: Line, *, is_among_its_like: bool) -> cst.ClassDef:
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


def annotate_assignment(node: cst.Assign, annotation: cst.BaseExpression) -> cst.AnnAssign:
    """Return the assignment to one target with an annotation."""
    # The annotation and the equals sign are cloned, so that they are no anchors for `torchmigrate.rewrite.tree_difference`:
    # the statement becomes one of another kind.
    (only,) = node.targets
    equal = cst.AssignEqual(
        only.whitespace_before_equal.deep_clone(), only.whitespace_after_equal.deep_clone()
    )
    noted = cst.Annotation(annotation.deep_clone())
    return cst.AnnAssign(only.target, noted, node.value, equal=equal, semicolon=node.semicolon)
