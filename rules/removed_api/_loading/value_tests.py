"""Code that asks what a value is, or is prepared for several kinds of values."""

from __future__ import annotations

import ast
import collections
import typing
from collections.abc import Mapping

from torchmigrate.semantics.name_resolution import last_name
from torchmigrate.semantics.symbol_uses import SymbolUses

from .content_names import TESTS

_KNOWN_CLASSES = frozenset(
    {*dir(collections), *dir(collections.abc), *dir(typing), "Path", "Module", "Tensor"}
)
"""Classes of the standard library, and names that classes of torch have under other imports."""
_Function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def is_tested(node: ast.expr, function: ast.AST, uses: SymbolUses) -> bool:
    """Return whether a function asks what an expression is, or handles the failure of its use."""
    tests = uses.compute_once(("value tests", function), lambda: _list_tested_expressions(function))
    return ast.unparse(node) in tests or _is_tried(node, uses.data_flow.parents)


def is_tested_for_class(node: ast.expr, function: ast.AST, uses: SymbolUses) -> bool:
    """Return whether a function asks whether an expression is an object of a class that neither Python nor torch has."""
    tests = uses.compute_once(("class tests", function), lambda: _list_class_tests(function, uses))
    return ast.unparse(node) in tests


def is_item_replaced(item: ast.Subscript, function: ast.AST, uses: SymbolUses) -> bool:
    """Return whether a function stores something at the same key, or at a key that is no literal."""
    stored = uses.compute_once(("stored items", function), lambda: _list_stored_items(function))
    return ast.unparse(item) in stored or ast.unparse(item.value) in stored


def _is_tried(node: ast.AST, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Return whether a failing use of a value is handled, or is itself what happens after another one failed."""
    while (parent := parents.get(node)) is not None and not isinstance(parent, _Function):
        if isinstance(parent, ast.ExceptHandler):
            return True
        if isinstance(parent, ast.Try) and node in parent.body:
            caught = {
                last_name(one) for handler in parent.handlers for one in _list_caught_exceptions(handler)
            }
            return not caught.isdisjoint({None, "AttributeError", "TypeError", "Exception", "BaseException"})
        node = parent
    return False


def _list_caught_exceptions(handler: ast.ExceptHandler) -> list[ast.expr]:
    """List the exceptions that a handler catches; one without a name for all."""
    if handler.type is None:
        return [ast.Constant(None)]
    return handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]


def _list_tested_expressions(function: ast.AST) -> frozenset[str]:
    """List the code of what a function asks about: ``isinstance(x, dict)``, ``hasattr(x["args"], "lr")``."""
    return frozenset(
        ast.unparse(node.args[0])
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and last_name(node.func) in TESTS and node.args
    )


def _list_class_tests(function: ast.AST, uses: SymbolUses) -> frozenset[str]:
    """List the code of what a function compares with such classes: ``isinstance(x, TrainingState)``."""
    found = set()
    for node in ast.walk(function):
        match node:
            case ast.Call(
                func=ast.Name(id="isinstance"), args=[value, ast.Name() | ast.Attribute() as owner]
            ):
                resolved = uses.resolve_node(owner)
                is_torch = resolved is not None and resolved.names[0].startswith("torch.")
                name = last_name(owner) or ""
                if name[:1].isupper() and not is_torch and name not in _KNOWN_CLASSES:
                    found.add(ast.unparse(value))
    return frozenset(found)


def _list_stored_items(function: ast.AST) -> frozenset[str]:
    """List the code of the items that a function stores; of those whose key is no literal, that of the container."""
    stores = (
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    )
    return frozenset(ast.unparse(one if isinstance(one.slice, ast.Constant) else one.value) for one in stores)
