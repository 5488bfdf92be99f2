"""The functions and modules that a file compiles, exports or captures, if the file itself defines them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchmigrate.semantics.resolve import leaf

from .nodes import Function, class_around

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.scopes import Scope

_SAME = frozenset(
    {"to", "cuda", "cpu", "xpu", "eval", "train", "half", "float", "bfloat16", "double", "requires_grad_"}
)
"""Methods of a module that return the module."""
_DEPTH = 8

Definition = Function | ast.Lambda | ast.ClassDef


def compiled(use: Use, ctx: Context) -> Definition | None:
    """Find the function, or the class of the module, that is passed to ``torch.compile(…)`` or decorated by it."""
    if use.symbol.startswith("."):  # of the module itself: `model.compile()`
        if use.call is None or use.decorated is not None or not isinstance(use.node, ast.Attribute):
            return None
        if isinstance(use.node.value, ast.Name) and use.node.value.id == "self":
            return class_around(use)
        return _definition(use.node.value, use.place.scope, use, ctx, _DEPTH)
    if use.decorated is not None:
        return use.decorated
    if use.call is None:
        return _partly(use)
    return None if not use.call.args else _definition(use.call.args[0], use.place.scope, use, ctx, _DEPTH)


def _partly(use: Use) -> Definition | None:
    """Return the definition that ``@partial(torch.compile, …)`` decorates."""
    around, statement = use.parents[-1] if use.parents else None, use.place.statement
    if not (
        isinstance(around, ast.Call) and leaf(around.func) == "partial" and around.args[:1] == [use.node]
    ):
        return None
    if isinstance(statement, (Function, ast.ClassDef)):
        return statement if around in statement.decorator_list else None
    return None


def statements(code: Function | ast.Lambda) -> Sequence[ast.AST]:
    """Return the statements of a function, or the expression of a lambda."""
    return [code.body] if isinstance(code, ast.Lambda) else code.body


def code_of(defined: Definition) -> Function | ast.Lambda | None:
    """Return the function that runs when a definition is called: itself, or a module's ``forward``."""
    if not isinstance(defined, ast.ClassDef):
        return defined
    return next(
        (part for part in defined.body if isinstance(part, Function) and part.name == "forward"), None
    )


def _definition(node: ast.expr, scope: Scope, use: Use, ctx: Context, depth: int) -> Definition | None:
    """Find the definition of the function or module that an expression stands for, in at most ``depth`` steps."""
    if depth == 0:
        return None
    if isinstance(node, ast.Lambda):
        return node
    if isinstance(node, ast.Name):
        owner = scope.find(node.id)
        every = owner.bindings[node.id] if owner is not None else []
        bindings = [one for one in every if one.value is None or one.value is not use.call]  # f = compile(f)
        if len(bindings) == 1 and isinstance(bindings[0].node, (Function, ast.ClassDef)):
            return bindings[0].node
        value = ctx.uses.flow.definition(node, scope)
        return None if value is None else _definition(value, scope, use, ctx, depth - 1)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _SAME:
            return _definition(node.func.value, scope, use, ctx, depth - 1)
        made = _definition(node.func, scope, use, ctx, depth - 1) if isinstance(node.func, ast.Name) else None
        return made if isinstance(made, ast.ClassDef) else None
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        around = class_around(use)
        if around is None:
            return None
        methods = (part for part in around.body if isinstance(part, Function) and part.name == node.attr)
        kept = [value for value in values_of(node.attr, around) if value is not use.call]
        if len(kept) == 1:
            return _definition(kept[0], scope, use, ctx, depth - 1)
        return None if kept else next(methods, None)
    if isinstance(node, ast.Attribute) and node.attr == "forward":
        module = _definition(node.value, scope, use, ctx, depth - 1)
        return module if isinstance(module, ast.ClassDef) else None
    return None


def values_of(name: str, around: ast.ClassDef) -> Iterator[ast.expr]:
    """Yield the values that the methods of a class assign to an attribute called ``name``."""
    for part in ast.walk(around):
        if isinstance(part, ast.Assign):
            kept = [target.attr for target in part.targets if isinstance(target, ast.Attribute)]
            yield from [part.value] * kept.count(name)
