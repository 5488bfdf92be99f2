"""Conditions with parts whose truth is known: their own truth, or the operands to drop."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from torchmigrate.model.findings import NoFix
from torchmigrate.semantics.resolve import leaf

from .changes import DropOperands

_PURE = (ast.Name, ast.Constant, ast.Attribute, ast.Compare, ast.BoolOp, ast.UnaryOp)
_PURE_CALLS = frozenset({"isinstance", "issubclass", "hasattr", "len", "callable", "all", "any", "getattr"})
_VALUE_USED = "the value of the condition is used, not only its truth"


@dataclass
class Condition:
    """The simplification of the expression ``top``; ``known`` returns the truth of a part, or None.

    ``is_test`` tells that only the truth of the expression matters. ``value`` is its truth, or None; then ``changes``
    drop the operands whose truth is known. Raises NoFix if the condition cannot be simplified.
    """

    top: ast.expr
    known: Callable[[ast.expr], bool | None]
    is_test: bool
    changes: list[DropOperands] = field(default_factory=list)
    value: bool | None = None

    def __post_init__(self) -> None:
        self.value = self._truth(self.top, self.is_test)

    def _truth(self, node: ast.expr, is_test: bool) -> bool | None:
        value = self.known(node)
        if value is not None:
            return value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            value = self._truth(node.operand, True)
            return None if value is None else not value
        return self._joined(node, is_test) if isinstance(node, ast.BoolOp) else None

    def _joined(self, node: ast.BoolOp, is_test: bool) -> bool | None:
        """Return the truth of operands joined by ``and`` (False if one operand is False) or ``or``, or None."""
        deciding = isinstance(node.op, ast.Or)
        values = [self._truth(operand, is_test) for operand in node.values]
        if deciding in values:
            first = values.index(deciding)
            if first and not is_test:
                raise NoFix(_VALUE_USED)
            for operand in node.values[:first]:
                if not _is_pure(operand):
                    raise NoFix(f"`{ast.unparse(operand)}` is evaluated first and may have side effects")
            return deciding
        if None not in values:
            return not deciding
        if values[-1] is not None and not is_test:
            raise NoFix(_VALUE_USED)
        gone = [operand for operand, value in zip(node.values, values, strict=True) if value is not None]
        if gone:
            self.changes.append(DropOperands(node, tuple(gone)))
        return None


def _is_pure(node: ast.AST) -> bool:
    """Return whether evaluating an expression has no side effects; ``is_…()`` and ``has_…()`` count as pure."""
    if isinstance(node, ast.Call):
        name = leaf(node.func) or ""
        asks = name in _PURE_CALLS or name.startswith(("is_", "has_"))
        return asks and all(map(_is_pure, (*node.args, *node.keywords)))
    if isinstance(node, (ast.operator, ast.cmpop, ast.unaryop, ast.boolop, ast.expr_context)):
        return True
    return isinstance(node, (*_PURE, ast.keyword)) and all(map(_is_pure, ast.iter_child_nodes(node)))
