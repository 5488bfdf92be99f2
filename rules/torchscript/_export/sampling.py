"""Whether what is exported looks at the values of tensors, which an export refuses: it makes probability distributions,
decides on a value, or takes a number out of a tensor.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.semantics.resolve import leaf

from .values import made_by

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_MAKES = re.compile(r"torch\.distributions\.(\w+\.)*[A-Z]\w*|pyro\.[\w.]+")
"""They check arguments and samples, unless `validate_args=False`: a branch on `constraint.check(value).all()`."""


_NUMBERS = frozenset({"item", "tolist", "numpy"})
_REDUCES = frozenset(
    {"sum", "mean", "max", "min", "amax", "amin", "any", "all", "norm", "prod", "std", "var", "allclose"}
)


def check(traced: ast.expr, use: Use, ctx: Context) -> None:
    """Raises NoFix where `forward` of the class that is exported, or a method that it calls, looks at values."""
    definition = made_by(traced, use, ctx)
    if not isinstance(definition, ast.ClassDef):
        return
    for node in _forward(definition):
        if _takes_number(node) or (isinstance(node, (ast.If, ast.IfExp, ast.While)) and _decides(node.test)):
            line = getattr(node, "lineno", 0)
            raise NoFix(
                f"line {line} looks at a value, which an export refuses: `torch.cond` or `torch.where` may say it"
            )
        if not isinstance(node, ast.Call) or any(keyword.arg == "validate_args" for keyword in node.keywords):
            continue
        resolved = ctx.resolve(node.func, use)
        if resolved is not None and _MAKES.fullmatch(resolved.names[0]):
            raise NoFix(
                f"`{ctx.text(node.func)}` in line {node.lineno} checks values, which an export refuses; "
                "`validate_args=False` for distributions lets it pass"
            )


def _takes_number(node: ast.AST) -> bool:
    """Whether a node makes a number or an array of a tensor, which a trace keeps as it was once."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in _NUMBERS and not node.args and leaf(node.func.value) != "self"
    return leaf(node.func) in ("int", "float", "bool") and any(map(_is_reduced, node.args))


def _decides(test: ast.expr) -> bool:
    """Whether a condition certainly depends on the value of a tensor."""
    if isinstance(test, ast.BoolOp):
        return any(map(_decides, test.values))
    if isinstance(test, ast.UnaryOp):
        return _decides(test.operand)
    if isinstance(test, ast.Compare):
        is_identity = any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in test.ops)
        return not is_identity and any(map(_is_reduced, (test.left, *test.comparators)))
    return _is_reduced(test)


def _is_reduced(node: ast.expr) -> bool:
    """Whether an expression is what a tensor is reduced to: ``x.abs().max()``, ``torch.any(mask) + 1``."""
    if isinstance(node, ast.BinOp):
        return _is_reduced(node.left) or _is_reduced(node.right)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    return node.func.attr in _REDUCES and leaf(node.func.value) not in ("self", "np", "numpy", "math")


def _forward(definition: ast.ClassDef) -> Iterator[ast.AST]:
    """The nodes of `forward`, and of the methods of the class that it calls."""
    methods = {node.name: node for node in definition.body if isinstance(node, ast.FunctionDef)}
    waiting = ["forward"]
    while waiting:
        method = methods.pop(waiting.pop(), None)
        for node in ast.walk(method) if method is not None else ():
            yield node
            if isinstance(node, ast.Attribute) and leaf(node.value) == "self":
                waiting.append(node.attr)
