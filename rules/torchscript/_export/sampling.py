"""Whether what is traced makes probability distributions, which look at the values of tensors: an export refuses that."""

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


def check(traced: ast.expr, use: Use, ctx: Context) -> None:
    """Raises NoFix where `forward` of the class that is traced, or a method that it calls, makes a distribution."""
    definition = made_by(traced, use, ctx)
    if not isinstance(definition, ast.ClassDef):
        return
    for node in _forward(definition):
        if not isinstance(node, ast.Call) or any(keyword.arg == "validate_args" for keyword in node.keywords):
            continue
        resolved = ctx.resolve(node.func, use)
        if resolved is not None and _MAKES.fullmatch(resolved.names[0]):
            raise NoFix(
                f"`{ctx.text(node.func)}` in line {node.lineno} checks values, which an export refuses; "
                "`validate_args=False` for distributions lets it pass"
            )


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
