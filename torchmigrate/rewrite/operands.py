"""Removal of operands of ``and`` and ``or``."""

from __future__ import annotations

from collections.abc import Collection

import libcst as cst

from torchmigrate.rewrite.parentheses import Role, fitted, unneeded


def without_operands(
    node: cst.BooleanOperation,
    updated: cst.BooleanOperation,
    gone: Collection[cst.BaseExpression],
    role: Role,
) -> cst.BaseExpression:
    """Return ``updated`` (``node`` with changes inside) without the operands of ``node`` that are in ``gone``.

    Each operand that stays keeps the operator before it, except for the first. A single operand that is left has
    parentheses only if the ``role`` of ``node`` requires them.
    """
    originals, chain = _chain(node), _chain(updated)
    kept = [link for original, link in zip(originals, chain, strict=True) if original[1] not in gone]
    _, result = kept[0]
    for operator, operand in kept[1:]:
        assert operator is not None
        result = cst.BooleanOperation(result, operator, operand)
    if len(kept) == 1 and not node.lpar:
        return fitted(unneeded(result, Role.LOGIC), role)
    if len(kept) > 1 or not result.lpar:
        result = result.with_changes(lpar=node.lpar, rpar=node.rpar)
    return result


_Link = tuple["cst.BaseBooleanOp | None", cst.BaseExpression]


def _chain(node: cst.BooleanOperation) -> list[_Link]:
    """Return the operands of ``a and b and c``, which libcst nests, each with the operator before it."""
    left: list[_Link]
    inner = node.left
    if (
        isinstance(inner, cst.BooleanOperation)
        and not inner.lpar
        and type(inner.operator) is type(node.operator)
    ):
        left = _chain(inner)
    else:
        left = [(None, inner)]
    return [*left, (node.operator, node.right)]
