"""Attention that is written out: products of matrices around a softmax, in statements that follow each other."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from torchmigrate.api import Context, Use
from torchmigrate.semantics.call_arguments import find_argument

from .enclosing_nodes import enclosing_body, walk_body

_PRODUCTS = frozenset({"matmul", "bmm"})
_LOWEST = re.compile(
    r"-inf|-(?:math|torch|np|numpy)\.inf|-\d{4,}|-\d+(?:\.\d+)?e\+?\d|finfo\(.*\)\.min|-torch\.finfo|neg_inf|(?i:max_neg)"
)
"""Values that give a position no weight."""


@dataclass
class Attention:
    """Statements that follow each other and compute attention, the last of which uses ``weights @ values``."""

    product: ast.expr
    query: ast.expr
    key: ast.expr
    value: ast.expr
    scale: ast.expr | None
    divided: bool
    """Whether the scores are divided by ``scale``."""
    mask: ast.expr | None
    fill: ast.expr | None
    """What marks the positions that are filled."""
    tested: ast.expr | None
    """The mask that is None where nothing is added or filled."""
    dropout: ast.Call | None
    helpers: list[ast.stmt]
    """The statements before the last, which only compute the weights."""


class AttentionReader:
    """Reads the statements before and after a softmax."""

    def __init__(self, use: Use, ctx: Context) -> None:
        self._use = use
        self._ctx = ctx
        block = use.place.block
        position = block.index(use.place.statement)
        self._before = block[:position][-6:]
        self._after = block[position + 1 :][:2]
        self._helpers: list[ast.stmt] = []
        self._names: set[str] = set()
        self._tested: ast.expr | None = None

    def read(self) -> Attention | None:
        """Return the attention whose weights a softmax gives, unless anything else reads them."""
        softmax = self._use.call
        if softmax is None or not _is_over_last(softmax, self._use.symbol):
            return None
        scores = softmax.func.value if self._use.symbol == ".softmax" else softmax.args[0]  # type: ignore[attr-defined]
        scores, masks = self._read_masks(scores)
        divided, scale, scores = self._read_scale(scores)
        parts = _read_product(self._resolve(scores))
        key = None if parts is None else _read_transposed(parts[1])
        ends = self._read_end(softmax)
        if parts is None or key is None or ends is None:
            return None
        product, value, dropout = ends
        mask, fill = masks
        used = [parts[0], key, value, *(one for one in (scale, mask, fill) if one is not None)]
        if self._is_read_elsewhere(product) or any(self._mentions(one) for one in used):
            return None
        return Attention(
            product, parts[0], key, value, scale, divided, mask, fill, self._tested, dropout, self._helpers
        )

    def _resolve(self, node: ast.expr) -> ast.expr:
        """Return the value of a variable that the statement just before assigns, which then is a helper."""
        if isinstance(node, ast.Name) and self._before:
            match self._before[-1]:
                case ast.Assign(targets=[ast.Name(id=name)], value=value) as statement if name == node.id:
                    self._before.pop()
                    self._helpers.insert(0, statement)
                    self._names.add(name)
                    return value
        return node

    def _read_masks(self, scores: ast.expr) -> tuple[ast.expr, tuple[ast.expr | None, ast.expr | None]]:
        """Return the scores without a mask that is added to them or filled in, and both."""
        if isinstance(scores, ast.Name) and self._before:
            match self._before[-1]:
                case (
                    ast.If(
                        test=ast.Compare(
                            left=ast.Name() as tested,
                            ops=[ast.IsNot()],
                            comparators=[ast.Constant(value=None)],
                        ),
                        body=[ast.Assign(targets=[ast.Name(id=name)], value=value)],
                        orelse=[],
                    ) as statement
                ) if name == scores.id:
                    inner, mask, fill = _read_mask(value)
                    marked = mask if mask is not None else fill
                    if marked is None or not isinstance(inner, ast.Name) or inner.id != name:
                        return scores, (None, None)
                    if mask is not None and ast.unparse(mask) != tested.id:
                        return scores, (None, None)
                    self._tested = tested
                    self._before.pop()
                    self._helpers.insert(0, statement)
                    self._names.add(name)
                    return inner, (mask, fill)
        value = self._resolve(scores)
        inner, mask, fill = _read_mask(value)
        return inner, (mask, fill)

    def _read_scale(self, scores: ast.expr) -> tuple[bool, ast.expr | None, ast.expr]:
        """Return whether scores are divided, by or with what they are scaled, and the scores before."""
        value = self._resolve(scores)
        match value:
            case ast.BinOp(
                left=ast.BinOp(op=ast.MatMult()) | ast.Call() | ast.Name() as inner,
                op=ast.Mult(),
                right=scale,
            ):
                return False, scale, inner
            case ast.BinOp(
                left=ast.BinOp(op=ast.MatMult()) | ast.Call() | ast.Name() as inner, op=ast.Div(), right=scale
            ):
                return True, scale, inner
            case ast.BinOp(left=scale, op=ast.Mult(), right=ast.BinOp(op=ast.MatMult()) as inner):
                return False, scale, inner
        return False, None, value

    def _read_end(self, softmax: ast.Call) -> tuple[ast.expr, ast.expr, ast.Call | None] | None:
        """Return the product with the values, these, and the dropout that is applied before."""
        weights: ast.expr = softmax
        statement = self._use.place.statement
        dropout: ast.Call | None = None
        parent = self._use.parents
        for outer in reversed(parent):
            if outer is softmax:
                continue
            if isinstance(outer, ast.Call) and outer.args[:1] == [weights] and _is_dropout(outer):
                dropout, weights = outer, outer
            break
        while True:
            for node in walk_body([statement]):
                parts = _read_product(node) if isinstance(node, ast.expr) else None
                if parts is not None and _is_same(parts[0], weights):
                    assert isinstance(node, ast.expr)
                    return node, parts[1], dropout
            match statement:
                case ast.Assign(targets=[ast.Name() as name], value=value) if _is_same(value, weights):
                    pass
                case _:
                    return None
            self._helpers.append(statement)
            self._names.add(name.id)
            weights = name
            if not self._after:
                return None
            statement = self._after.pop(0)
            if not isinstance(statement, (ast.Assign, ast.Return)):
                return None
            match statement:
                case ast.Assign(value=ast.Call(args=[ast.Name(id=given), *_]) as call) if given == name.id:
                    if dropout is None and _is_dropout(call):
                        dropout, weights = call, call

    def _is_read_elsewhere(self, product: ast.expr) -> bool:
        """Return whether anything but the helpers and the product reads a variable of the helpers."""
        inside = {id(node) for part in (*self._helpers, product) for node in ast.walk(part)}
        return any(
            isinstance(node, ast.Name)
            and node.id in self._names
            and isinstance(node.ctx, ast.Load)
            and id(node) not in inside
            for outer in enclosing_body(self._use, self._ctx)
            for node in ast.walk(outer)
        )

    def _mentions(self, node: ast.expr) -> bool:
        return any(isinstance(one, ast.Name) and one.id in self._names for one in ast.walk(node))


def _is_over_last(softmax: ast.Call, symbol: str) -> bool:
    dimension = find_argument(softmax, 0 if symbol == ".softmax" else 1, "dim")
    given = len(softmax.args) + len(softmax.keywords)
    return (
        dimension is not None
        and ast.unparse(dimension) == "-1"
        and given == (1 if symbol == ".softmax" else 2)
    )


def _is_same(one: ast.expr, other: ast.expr) -> bool:
    return one is other or (isinstance(one, ast.Name) and isinstance(other, ast.Name) and one.id == other.id)


def _is_dropout(call: ast.Call) -> bool:
    return "drop" in ast.unparse(call.func).lower()


def _read_product(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Return the factors of a product of matrices."""
    match node:
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            return left, right
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="torch"), attr=name), args=[left, right], keywords=[]
        ):
            return (left, right) if name in _PRODUCTS else None
        case ast.Call(func=ast.Attribute(value=left, attr=name), args=[right], keywords=[]):
            return (left, right) if name in _PRODUCTS else None
    return None


def _read_transposed(node: ast.expr) -> ast.expr | None:
    """Return what is transposed in its last two dimensions; keys with more than four are not known."""
    match node:
        case ast.Attribute(value=value, attr="mT"):
            return value
        case ast.Call(func=ast.Attribute(value=value, attr="transpose"), args=[one, other]):
            return value if {ast.unparse(one), ast.unparse(other)} in ({"-1", "-2"}, {"2", "3"}) else None
    return None


def _read_mask(value: ast.expr) -> tuple[ast.expr, ast.expr | None, ast.expr | None]:
    """Return what a mask is added to or filled into, what is added, and what marks where it is filled."""
    match value:
        case ast.BinOp(left=inner, op=ast.Add(), right=mask):
            return inner, mask, None
        case ast.Call(func=ast.Attribute(value=inner, attr="masked_fill"), args=[fill, lowest]) if (
            _LOWEST.search(ast.unparse(lowest))
        ):
            return inner, None, fill
    return value, None, None
