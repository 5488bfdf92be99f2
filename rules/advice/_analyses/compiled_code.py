"""The functions and modules that a file compiles, exports or captures, if the file itself defines them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchmigrate.api import Context, Use
from torchmigrate.semantics.scopes import Scope

from .enclosing_nodes import FunctionNode, enclosing_class, find_partial

_RETURNING_SELF = frozenset(
    {"to", "cuda", "cpu", "xpu", "eval", "train", "half", "float", "bfloat16", "double", "requires_grad_"}
)
"""Methods of a module that return the module."""
_DEPTH = 8

Definition = FunctionNode | ast.Lambda | ast.ClassDef


def find_compiled(use: Use, ctx: Context) -> Definition | None:
    """Find the function, or the class of the module, that the file passes to ``torch.compile(…)`` or decorated by it."""
    if use.symbol.startswith("."):  # of the module itself: `model.compile()`
        if use.call is None or use.decorated is not None or not isinstance(use.node, ast.Attribute):
            return None
        if isinstance(use.node.value, ast.Name) and use.node.value.id == "self":
            return enclosing_class(use)
        return _find_definition(use.node.value, use.place.scope, use, ctx, _DEPTH)
    if use.decorated is not None:
        return use.decorated
    if use.call is None:
        return _find_decorated(use)
    return (
        None if not use.call.args else _find_definition(use.call.args[0], use.place.scope, use, ctx, _DEPTH)
    )


def _find_decorated(use: Use) -> Definition | None:
    """Return the definition that ``@partial(torch.compile, …)`` decorates."""
    around, statement = find_partial(use), use.place.statement
    is_decorated = isinstance(statement, (FunctionNode, ast.ClassDef)) and around in statement.decorator_list
    return statement if is_decorated else None  # type: ignore[return-value]


def list_statements(code: FunctionNode | ast.Lambda) -> Sequence[ast.AST]:
    """Return the statements of a function, or the expression of a lambda."""
    return [code.body] if isinstance(code, ast.Lambda) else code.body


def find_code(defined: Definition) -> FunctionNode | ast.Lambda | None:
    """Return the function that runs when a definition is called: itself, or a module's ``forward``."""
    if not isinstance(defined, ast.ClassDef):
        return defined
    return next(
        (part for part in defined.body if isinstance(part, FunctionNode) and part.name == "forward"), None
    )


def _find_definition(node: ast.expr, scope: Scope, use: Use, ctx: Context, depth: int) -> Definition | None:
    """Find the definition of the function or module that an expression stands for, in at most ``depth`` steps."""

    def follow(value: ast.expr | None) -> Definition | None:
        return None if value is None or depth == 1 else _find_definition(value, scope, use, ctx, depth - 1)

    match node:
        case ast.Lambda():
            return node
        case ast.Name(id=name):
            owner = scope.find_scope(name)
            every = owner.bindings[name] if owner is not None else []
            # All but `f = compile(f)`.
            bindings = [one for one in every if one.value is None or one.value is not use.call]
            if len(bindings) == 1 and isinstance(bindings[0].node, (FunctionNode, ast.ClassDef)):
                return bindings[0].node
            return follow(ctx.uses.data_flow.find_definition(node, scope))
        case ast.Call(func=ast.Attribute(value=owner_, attr=method)) if method in _RETURNING_SELF:
            return follow(owner_)
        case ast.Call(func=ast.Name() as made):
            return module if isinstance(module := follow(made), ast.ClassDef) else None
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if (
            around := enclosing_class(use)
        ) is not None:
            methods = (part for part in around.body if isinstance(part, FunctionNode) and part.name == name)
            kept = [value for value in find_assigned_values(name, around) if value is not use.call]
            return follow(kept[0]) if len(kept) == 1 else None if kept else next(methods, None)
        case ast.Attribute(value=ast.Name(id="self")):
            return None
        case ast.Attribute(value=module_, attr="forward"):
            return module if isinstance(module := follow(module_), ast.ClassDef) else None
    return None


def find_assigned_values(name: str, around: ast.ClassDef) -> Iterator[ast.expr]:
    """Yield the values that the methods of a class assign to an attribute called ``name``."""
    for part in ast.walk(around):
        if isinstance(part, ast.Assign):
            kept = [target.attr for target in part.targets if isinstance(target, ast.Attribute)]
            yield from [part.value] * kept.count(name)
