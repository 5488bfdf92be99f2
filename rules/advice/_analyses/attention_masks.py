"""Attention masks that depend on positions alone, and not on data."""

from __future__ import annotations

import ast
import enum

from torchmigrate.api import Context, Use
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.scopes import Scope

from .enclosing_nodes import FunctionNode, enclosing_class, walk_body

_FILLING = frozenset({"ones", "full", "zeros", "ones_like", "tensor", "full_like"})
_NUMBER_MAKERS = frozenset(
    {"float", "finfo", "iinfo", "zeros_like", "new_zeros", "new_ones", "new_full", "new_tensor"}
)
_KEEPING_METHODS = frozenset({"to", "bool", "unsqueeze", "view", "expand", "contiguous", "reshape"})
_CHANGING_METHODS = frozenset(
    {"float", "int", "long", "type", "logical_not", "half", "bfloat16", "abs", "neg", "clamp"}
)
_COMBINING = frozenset(
    {"logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "add", "mul"}
)
"""Functions and methods that combine two masks."""
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_DEPTH = 10
_LARGEST = 200
"""The number of nodes from which on an expression is not analyzed."""


class MaskPattern(enum.Enum):
    """The kind of a mask."""

    CAUSAL = enum.auto()
    """A position sees itself and all positions before it."""
    POSITIONS = enum.auto()
    """Any other function of positions."""


class MaskPatterns:
    """Finds the patterns of the masks in one file."""

    def __init__(self, use: Use, ctx: Context) -> None:
        self._use = use
        self._ctx = ctx

    def find_pattern(self, node: ast.expr, scope: Scope, depth: int = _DEPTH) -> MaskPattern | None:
        """Return the pattern of an expression in ``scope``, through variables, buffers of the module and casts; None for data."""
        if depth == 0:
            return None
        if isinstance(node, ast.Name):
            value = self._ctx.uses.data_flow.find_definition(node, scope)
            filled = self._find_masked_fill(node.id, scope) if value is not None else None
            if filled is not None:
                return self._pattern_of_call(filled, scope, depth)
            return None if value is None else self.find_pattern(value, scope, depth - 1)
        if isinstance(node, ast.Attribute):
            return self._pattern_of_buffer(node, depth)
        if isinstance(node, ast.Subscript):
            found = self.find_pattern(node.value, scope, depth - 1)
            return found if _is_leading_square(node) else _forget_causality(found)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Invert, ast.USub)):
            return _forget_causality(self.find_pattern(node.operand, scope, depth - 1))
        if isinstance(node, ast.Call):
            return self._pattern_of_call(node, scope, depth)
        sides = _list_operands(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
            return (
                MaskPattern.POSITIONS
                if all(self.find_pattern(side, scope, depth - 1) for side in sides)
                else None
            )
        if isinstance(node, ast.BinOp) and self._are_joined(sides, scope, depth):
            return MaskPattern.POSITIONS
        if isinstance(node, ast.Compare) and isinstance(sides[-1], ast.Constant):
            found = _forget_causality(self.find_pattern(sides[0], scope, depth - 1))
            return found or self._compare_positions(node, scope)
        if _compares_documents(node):
            return MaskPattern.POSITIONS
        return self._compare_positions(node, scope) if sides else None

    def _find_masked_fill(self, name: str, scope: Scope) -> ast.Call | None:
        """Return the only call of a function that writes into a tensor: ``bias.masked_fill_(hidden, -inf)``."""
        written = [
            node
            for statement in scope.node.body
            if isinstance(statement, ast.Expr) and isinstance(node := statement.value, ast.Call)
            if isinstance(node.func, ast.Attribute) and last_name(node.func.value) == name
        ]
        return written[0] if len(written) == 1 and last_name(written[0].func) == "masked_fill_" else None

    def _pattern_of_call(self, node: ast.Call, scope: Scope, depth: int) -> MaskPattern | None:
        returned = self._find_returned(node.func, scope)
        if returned is not None:
            return self.find_pattern(*returned, depth - 1)
        name, receiver = (
            last_name(node.func),
            node.func.value if isinstance(node.func, ast.Attribute) else None,
        )
        resolved = self._ctx.uses.names.resolve_expression(node.func, scope)
        of_torch = resolved is not None and "()" not in resolved.names[0]
        if name == "generate_square_subsequent_mask":
            return MaskPattern.CAUSAL
        if name in ("tril", "triu", "tril_", "triu_"):
            filled = node.args[0] if of_torch and node.args else receiver
            return self._pattern_of_triangle(node, filled, at=1 if of_torch else 0)
        if name in ("masked_fill", "masked_fill_") and receiver is not None and node.args and not of_torch:
            return self._pattern_of_choice(node.args[0], [receiver], scope, depth)
        if name == "where" and of_torch and node.args:
            return self._pattern_of_choice(node.args[0], node.args[1:], scope, depth)
        joined = [*([receiver] if receiver is not None and not of_torch else []), *node.args]
        if name in _COMBINING and len(joined) == 2:
            return MaskPattern.POSITIONS if self._are_joined(joined, scope, depth) else None
        if of_torch and name == "logical_not" and node.args:
            return _forget_causality(self.find_pattern(node.args[0], scope, depth - 1))
        if receiver is None or of_torch or name not in _KEEPING_METHODS | _CHANGING_METHODS:
            return None
        found = self.find_pattern(receiver, scope, depth - 1)
        return _forget_causality(found) if name in _CHANGING_METHODS else found

    def _find_returned(self, function: ast.expr, scope: Scope) -> tuple[ast.expr, Scope] | None:
        """Return the only expression that a function of the file, or a method of the enclosing class, returns, with its scope."""
        called: ast.AST | None = None
        if isinstance(function, ast.Name):
            owner = scope.find_scope(function.id)
            bindings = owner.bindings[function.id] if owner is not None else []
            called = bindings[0].node if len(bindings) == 1 else None
        elif isinstance(function, ast.Attribute) and ast.unparse(function.value) == "self":
            around = enclosing_class(self._use)
            named = (
                [part for part in around.body if isinstance(part, FunctionNode)] if around is not None else []
            )
            called = next((part for part in named if part.name == function.attr), None)
        if not isinstance(called, FunctionNode):
            return None
        returns = [part.value for part in walk_body(called.body) if isinstance(part, ast.Return)]
        inside = self._ctx.uses.scopes.by_node.get(called)
        if inside is None or len(returns) != 1 or returns[0] is None:
            return None
        return returns[0], inside

    def _are_joined(self, sides: list[ast.expr], scope: Scope, depth: int) -> bool:
        """Return whether patterns are combined with each other or with numbers: ``causal + local``, ``(1 - causal) * -1e4``."""
        found = [self.find_pattern(side, scope, depth - 1) for side in sides]
        others = [side for side, pattern in zip(sides, found, strict=True) if pattern is None]
        return any(found) and all(self._is_filled(side, scope, depth - 1) for side in others)

    def _pattern_of_choice(
        self, condition: ast.expr, values: list[ast.expr], scope: Scope, depth: int
    ) -> MaskPattern | None:
        """Return the pattern of a choice among ``values``, unless one of them is data, such as a learned bias."""
        found = _forget_causality(self.find_pattern(condition, scope, depth - 1))
        plain = all(self._is_filled(value, scope, depth) for value in values)
        return found if plain else None

    def _is_filled(self, node: ast.expr, scope: Scope, depth: int) -> bool:
        """Return whether an expression is a number, a tensor filled with one, or a pattern."""
        match node:
            case ast.Name():
                value = self._ctx.uses.data_flow.find_definition(node, scope)
                return value is not None and depth > 0 and self._is_filled(value, scope, depth - 1)
            case ast.UnaryOp(operand=operand):
                return self._is_filled(operand, scope, depth)
            case ast.Call(func=made) | ast.Attribute(value=ast.Call(func=made)) if (
                last_name(made) in _FILLING | _NUMBER_MAKERS
            ):
                return True
            case ast.Constant() | ast.Attribute(attr="inf"):
                return True
        return self.find_pattern(node, scope, depth - 1) is not None

    def _pattern_of_triangle(self, node: ast.Call, filled: ast.expr | None, at: int) -> MaskPattern | None:
        """Return the pattern of ``tril`` or ``triu`` of ``filled``; ``at`` is the position of its diagonal."""
        match filled:
            case ast.Call(func=ast.Attribute(value=inner, attr="bool" | "float")):
                filled = inner
        if isinstance(filled, ast.Call) and last_name(filled.func) in ("tril", "triu"):  # a band
            owner = filled.func.value if isinstance(filled.func, ast.Attribute) else None
            outer = next((one for one in (owner, *filled.args) if isinstance(one, ast.Call)), None)
            return (
                MaskPattern.POSITIONS if self._pattern_of_triangle(filled, outer, at=0) is not None else None
            )
        full = filled.left if isinstance(filled, ast.BinOp) and isinstance(filled.op, ast.Mult) else filled
        if filled is None or not (isinstance(full, ast.Call) and last_name(full.func) in _FILLING):
            return None
        given = find_argument(node, at, "diagonal")
        diagonal = 0 if given is None else getattr(given, "value", None)
        lower = last_name(node.func) in ("tril", "tril_") and diagonal == 0
        additive = (
            last_name(node.func) in ("triu", "triu_") and diagonal == 1 and "inf" in ast.unparse(filled)
        )
        return MaskPattern.CAUSAL if lower or additive else MaskPattern.POSITIONS

    def _pattern_of_buffer(self, node: ast.Attribute, depth: int) -> MaskPattern | None:
        """Return the pattern of a buffer of the enclosing module, if exactly one expression is assigned to it."""
        if not (isinstance(node.value, ast.Name) and node.value.id == "self"):
            return None
        around = enclosing_class(self._use)
        found = [
            (value, scope)
            for scope in self._ctx.uses.scopes.all
            if isinstance(scope.node, FunctionNode) and around is not None and scope.node in around.body
            for part in ast.walk(scope.node)
            if (value := _find_assigned_value(part, node.attr)) is not None
        ]
        return self.find_pattern(*found[0], depth - 1) if len(found) == 1 else None

    def _compare_positions(self, node: ast.expr, scope: Scope) -> MaskPattern | None:
        """Return whether an expression compares positions with positions, not with lengths: two parts add a dimension to a range."""
        added, counted = 0, False
        waiting: list[ast.AST] = [node]
        for part in waiting:  # which grows
            if len(waiting) > _LARGEST:
                return None
            counted |= isinstance(part, ast.Call) and last_name(part.func) == "arange"
            added += isinstance(part, ast.Subscript) and any(
                isinstance(index, ast.Constant) and index.value is None for index in ast.walk(part.slice)
            )
            added += isinstance(part, ast.Call) and last_name(part.func) in ("unsqueeze", "view", "reshape")
            value = (
                self._ctx.uses.data_flow.find_definition(part, scope) if isinstance(part, ast.Name) else None
            )
            waiting += [value] if value is not None else []
            waiting += ast.iter_child_nodes(part)
        return MaskPattern.POSITIONS if counted and added >= 2 else None


def _compares_documents(node: ast.expr) -> bool:
    """Return whether an expression is ``of[:, None] == of[None, :]``: each token sees the tokens of its own document."""
    if not (isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq) and len(node.ops) == 1):
        return False
    sides = (node.left, node.comparators[0])
    parts = [side for side in sides if isinstance(side, ast.Subscript) and isinstance(side.value, ast.Name)]
    slices = {ast.unparse(part.slice) for part in parts}
    one_name = len({ast.unparse(part.value) for part in parts}) == 1
    return one_name and len(slices) == 2 and all("None" in one for one in slices)


def _is_leading_square(node: ast.Subscript) -> bool:
    """Return whether a subscript takes as many rows as columns from the first on: ``mask[:, :, :n, :n]``."""
    indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    slices = [index for index in indices if isinstance(index, ast.Slice)]
    others = [index for index in indices if not isinstance(index, ast.Slice)]
    lengths = {ast.unparse(one.upper) for one in slices if one.upper is not None}
    whole = all(one.lower is None and one.step is None for one in slices)
    return whole and len(lengths) <= 1 and all(isinstance(other, ast.Constant) for other in others)


def _find_assigned_value(node: ast.AST, name: str) -> ast.expr | None:
    """Return the value that a node assigns to the attribute ``name``, or registers as the buffer of that name."""
    match node:
        case ast.Assign(targets=[ast.Attribute(attr=kept), *_], value=value) if kept == name:
            return value
        case ast.Call(func=function, args=[ast.Constant(value=kept), value, *_]) if kept == name:
            return value if last_name(function) == "register_buffer" else None
    return None


def _list_operands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Compare):
        return [node.left, *node.comparators]
    if isinstance(node, ast.BinOp) and isinstance(node.op, (*_ARITHMETIC, ast.BitAnd, ast.BitOr)):
        return [node.left, node.right]
    return []


def _forget_causality(found: MaskPattern | None) -> MaskPattern | None:
    """Return the pattern that is left after an operation that changes the meaning of a mask's values."""
    return None if found is None else MaskPattern.POSITIONS
