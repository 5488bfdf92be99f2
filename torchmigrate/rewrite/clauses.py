"""Clauses of single statements: context managers taken out of a ``with``, a target annotated."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst


def without_items(node: cst.With, gone: Collection[int]) -> cst.With:
    """The statement without the context managers at some indices; the last one that stays ends as the last one did."""
    kept = [item for index, item in enumerate(node.items) if index not in gone]
    kept[-1] = kept[-1].with_changes(comma=node.items[-1].comma)
    return node.with_changes(items=kept)


def annotated(node: cst.Assign, annotation: cst.BaseExpression) -> cst.AnnAssign:
    """The assignment to one target with an annotation.

    That and the sign of equality are no anchors (see `torchmigrate.rewrite.difference`): the statement becomes another.
    """
    (only,) = node.targets
    equal = cst.AssignEqual(
        only.whitespace_before_equal.deep_clone(), only.whitespace_after_equal.deep_clone()
    )
    noted = cst.Annotation(annotation.deep_clone())
    return cst.AnnAssign(only.target, noted, node.value, equal=equal, semicolon=node.semicolon)
