"""Operands of ``and`` and ``or``, taken out."""

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
    """What is left of ``updated``, which was ``node`` in its ``role``, of whose operands those in ``gone`` go.

    The first that stays keeps nothing but itself; each other one keeps the operator before it. One that stays alone has
    parentheses where this role asks for them, and not because it was an operand.
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


def operands(node: cst.BooleanOperation) -> list[cst.BaseExpression]:
    """The operands of ``a and b and c``, which libcst nests."""
    return [operand for _, operand in _chain(node)]


_Link = tuple["cst.BaseBooleanOp | None", cst.BaseExpression]


def _chain(node: cst.BooleanOperation) -> list[_Link]:
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
