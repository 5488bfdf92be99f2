"""The parentheses that an expression needs at its place: generously many where operators mix."""

from __future__ import annotations

import enum
from typing import TypeVar

import libcst as cst

from .line_ends import is_multiline

Expression = TypeVar("Expression", bound=cst.BaseExpression)


class ExpressionRole(enum.IntEnum):
    """The place of an expression, in the order of how tightly its surroundings bind."""

    STATEMENT = 0
    """The whole value of a statement, which may be a tuple without parentheses."""
    FREE = 1
    """The place of an argument, an element or a condition."""
    CLAUSE = 2
    """The place of an expression before or after ``if``, ``else`` or ``for``."""
    LOGIC = 3
    """The place of an operand of ``and``, ``or`` or ``not``."""
    COMPARED = 4
    OPERAND = 5
    TARGET = 6
    """The place of an expression that is called, subscripted, or followed by an attribute."""


_STRENGTH: tuple[tuple[type[cst.CSTNode] | tuple[type[cst.CSTNode], ...], ExpressionRole], ...] = (
    ((cst.Tuple, cst.Yield), ExpressionRole.STATEMENT),
    ((cst.IfExp, cst.Lambda), ExpressionRole.FREE),
    (cst.BooleanOperation, ExpressionRole.CLAUSE),
    (cst.Comparison, ExpressionRole.LOGIC),
    ((cst.BinaryOperation, cst.UnaryOperation, cst.Await, cst.ConcatenatedString), ExpressionRole.COMPARED),
    ((cst.Integer, cst.Float), ExpressionRole.OPERAND),
    (
        (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.SimpleString, cst.FormattedString),
        ExpressionRole.TARGET,
    ),
    ((cst.List, cst.Dict, cst.Set, cst.ListComp, cst.DictComp, cst.SetComp), ExpressionRole.TARGET),
    ((cst.Ellipsis, cst.Imaginary), ExpressionRole.TARGET),
)

_ROLES: tuple[tuple[type[cst.CSTNode] | tuple[type[cst.CSTNode], ...], ExpressionRole], ...] = (
    ((cst.IfExp, cst.CompFor, cst.CompIf, cst.Lambda), ExpressionRole.CLAUSE),
    (cst.BooleanOperation, ExpressionRole.LOGIC),
    ((cst.Comparison, cst.ComparisonTarget), ExpressionRole.COMPARED),
    ((cst.BinaryOperation, cst.Await, cst.StarredElement, cst.StarredDictElement), ExpressionRole.OPERAND),
    ((cst.Decorator, cst.FormattedStringExpression), ExpressionRole.TARGET),
    ((cst.Assign, cst.Return, cst.Expr), ExpressionRole.STATEMENT),
)


def find_role(parent: cst.CSTNode, child: cst.CSTNode) -> ExpressionRole:
    """Return the role of ``child``, a direct child of ``parent``."""
    if isinstance(parent, (cst.Attribute, cst.Subscript)):
        return ExpressionRole.TARGET if parent.value is child else ExpressionRole.FREE
    if isinstance(parent, cst.Call) and parent.func is child:
        return ExpressionRole.TARGET
    if isinstance(parent, cst.UnaryOperation):
        return ExpressionRole.LOGIC if isinstance(parent.operator, cst.Not) else ExpressionRole.OPERAND
    if isinstance(parent, cst.Arg) and parent.star:
        return ExpressionRole.OPERAND
    return next((role for kinds, role in _ROLES if isinstance(parent, kinds)), ExpressionRole.FREE)


def fit_parentheses(node: Expression, role: ExpressionRole) -> Expression:
    """Return the expression, with parentheses if it needs them in this role and has none."""
    if node.lpar or role <= _find_strength(node):
        return node
    return add_parentheses(node)


def strip_parentheses(node: Expression, role: ExpressionRole) -> Expression:
    """Return the expression without parentheses that only its old ``role`` required, unless it is a tuple or multi-line."""
    if len(node.lpar) != 1 or isinstance(node, cst.Tuple) or is_multiline(cst.Module([]).code_for_node(node)):
        return node
    bare: Expression = node.with_changes(lpar=[], rpar=[])
    return bare if role > _find_strength(bare) else node


def add_parentheses(node: Expression) -> Expression:
    """Return the expression in one more pair of parentheses."""
    changed: Expression = node.with_changes(
        lpar=[cst.LeftParen(), *node.lpar], rpar=[*node.rpar, cst.RightParen()]
    )
    return changed


def _find_strength(node: cst.BaseExpression) -> int:
    """Return the tightest role that the expression can have without parentheses; -1 if it has none."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        return ExpressionRole.LOGIC
    return next((role for kinds, role in _STRENGTH if isinstance(node, kinds)), -1)
