"""The parentheses that an expression needs at its place: generously many where operators mix."""

from __future__ import annotations

import enum
from typing import TypeVar

import libcst as cst

from .line_ends import is_broken

Expression = TypeVar("Expression", bound=cst.BaseExpression)


class Role(enum.IntEnum):
    """The place of an expression, in the order of how tightly its surroundings bind."""

    STATEMENT = 0
    """The whole value of a statement, which may be a tuple without parentheses."""
    FREE = 1
    """An argument, an element, a condition."""
    CLAUSE = 2
    """Before or after ``if``, ``else``, ``for``."""
    LOGIC = 3
    """An operand of ``and``, ``or``, ``not``."""
    COMPARED = 4
    OPERAND = 5
    TARGET = 6
    """Called, subscripted, or before the dot of an attribute."""


_STRENGTH: tuple[tuple[type[cst.CSTNode] | tuple[type[cst.CSTNode], ...], Role], ...] = (
    ((cst.Tuple, cst.Yield), Role.STATEMENT),
    ((cst.IfExp, cst.Lambda), Role.FREE),
    (cst.BooleanOperation, Role.CLAUSE),
    (cst.Comparison, Role.LOGIC),
    ((cst.BinaryOperation, cst.UnaryOperation, cst.Await, cst.ConcatenatedString), Role.COMPARED),
    ((cst.Integer, cst.Float), Role.OPERAND),
    ((cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.SimpleString, cst.FormattedString), Role.TARGET),
    ((cst.List, cst.Dict, cst.Set, cst.ListComp, cst.DictComp, cst.SetComp), Role.TARGET),
    ((cst.Ellipsis, cst.Imaginary), Role.TARGET),
)

_ROLES: tuple[tuple[type[cst.CSTNode] | tuple[type[cst.CSTNode], ...], Role], ...] = (
    ((cst.IfExp, cst.CompFor, cst.CompIf, cst.Lambda), Role.CLAUSE),
    (cst.BooleanOperation, Role.LOGIC),
    ((cst.Comparison, cst.ComparisonTarget), Role.COMPARED),
    ((cst.BinaryOperation, cst.Await, cst.StarredElement, cst.StarredDictElement), Role.OPERAND),
    ((cst.Decorator, cst.FormattedStringExpression), Role.TARGET),
    ((cst.Assign, cst.Return, cst.Expr), Role.STATEMENT),
)


def role_of(parent: cst.CSTNode, child: cst.CSTNode) -> Role:
    """Return the role of ``child``, a direct child of ``parent``."""
    if isinstance(parent, (cst.Attribute, cst.Subscript)):
        return Role.TARGET if parent.value is child else Role.FREE
    if isinstance(parent, cst.Call) and parent.func is child:
        return Role.TARGET
    if isinstance(parent, cst.UnaryOperation):
        return Role.LOGIC if isinstance(parent.operator, cst.Not) else Role.OPERAND
    if isinstance(parent, cst.Arg) and parent.star:
        return Role.OPERAND
    return next((role for kinds, role in _ROLES if isinstance(parent, kinds)), Role.FREE)


def fitted(node: Expression, role: Role) -> Expression:
    """Return the expression, with parentheses if it needs them in this role and has none."""
    if node.lpar or role <= _strength(node):
        return node
    return parenthesized(node)


def unneeded(node: Expression, role: Role) -> Expression:
    """Return the expression without parentheses that only its old ``role`` required, unless it is a tuple or multi-line."""
    if len(node.lpar) != 1 or isinstance(node, cst.Tuple) or is_broken(cst.Module([]).code_for_node(node)):
        return node
    bare: Expression = node.with_changes(lpar=[], rpar=[])
    return bare if role > _strength(bare) else node


def parenthesized(node: Expression) -> Expression:
    """Return the expression in one more pair of parentheses."""
    changed: Expression = node.with_changes(
        lpar=[cst.LeftParen(), *node.lpar], rpar=[*node.rpar, cst.RightParen()]
    )
    return changed


def _strength(node: cst.BaseExpression) -> int:
    """Return the tightest role that the expression can have without parentheses; -1 if it has none."""
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
        return Role.LOGIC
    return next((role for kinds, role in _STRENGTH if isinstance(node, kinds)), -1)
