"""Conditions of which a part has become known: what is left of them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

from torchmigrate.model.findings import Edit
from torchmigrate.semantics.resolve import leaf
from torchmigrate.text.source import Source

_PURE = (ast.Name, ast.Constant, ast.Attribute, ast.Compare, ast.BoolOp, ast.UnaryOp)
_PURE_CALLS = frozenset({"isinstance", "issubclass", "hasattr", "len", "callable", "all", "any", "getattr"})


class NotDecided(Exception):
    """The condition cannot be simplified; the message says why."""


@dataclass
class Condition:
    """The expression ``top``, in which ``known`` gives the truth of some parts.

    ``is_test`` says that nothing but the truth of the expression matters. ``value`` is its truth, or None; then
    ``edits`` take out what is known. Raises NotDecided.
    """

    source: Source
    top: ast.expr
    known: Callable[[ast.expr], bool | None]
    is_test: bool
    edits: list[Edit] = field(default_factory=list)
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
        """The truth of operands joined by ``and`` (of which one that is False decides) or by ``or``."""
        deciding = isinstance(node.op, ast.Or)
        values = [self._truth(operand, is_test) for operand in node.values]
        if deciding in values:
            first = values.index(deciding)
            if first and not is_test:
                raise NotDecided("the value of the condition is used, and not only its truth")
            for operand in node.values[:first]:
                if not _is_pure(operand):
                    raise NotDecided(
                        f"`{self.source.segment(operand)}` is evaluated before it, and may do something"
                    )
            return deciding
        if None not in values:
            return not deciding
        if values[-1] is not None and not is_test:
            raise NotDecided("the value of the condition is used, and not only its truth")
        self._take_out(node, [value is not None for value in values])
        return None

    def _take_out(self, node: ast.BoolOp, known: list[bool]) -> None:
        """Deletes the operands that are known, each with the operator that joins it to what stays."""
        spans = self._operands(node)
        first = known.index(False)
        if first:
            self.edits.append(Edit(spans[0][0], spans[first][0], ""))
        for index in range(first + 1, len(spans)):
            if known[index]:
                self.edits.append(Edit(spans[index - 1][1], spans[index][1], ""))

    def _operands(self, node: ast.BoolOp) -> list[tuple[int, int]]:
        """Where each operand begins and ends, its parentheses included."""
        whole = self.source.span(node)
        word = b"or" if isinstance(node.op, ast.Or) else b"and"
        starts, ends = [whole.start], []
        for one, other in pairwise(node.values):
            between = self.source.span(one).end, self.source.span(other).start
            gap = self.source.text[slice(*between)]
            if b"#" in gap or b"\\" in gap:
                raise NotDecided("a comment or a line continuation stands between the conditions")
            closed, _, opened = gap.partition(word)
            ends.append(between[0] + len(closed.rstrip()))
            starts.append(between[1] - len(opened.lstrip()))
        return list(zip(starts, [*ends, whole.end], strict=True))


def _is_pure(node: ast.AST) -> bool:
    """Whether evaluating an expression does nothing else; questions (``is_…``, ``has_…``) count as such."""
    if isinstance(node, ast.Call):
        name = leaf(node.func) or ""
        asks = name in _PURE_CALLS or name.startswith(("is_", "has_"))
        return asks and all(map(_is_pure, (*node.args, *node.keywords)))
    if isinstance(node, (ast.operator, ast.cmpop, ast.unaryop, ast.boolop, ast.expr_context)):
        return True
    return isinstance(node, (*_PURE, ast.keyword)) and all(map(_is_pure, ast.iter_child_nodes(node)))
