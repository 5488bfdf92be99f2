"""The values of expressions that take torch's version apart, for one release."""

from __future__ import annotations

import ast

from torchmigrate.api import Use


class UnknownValueError(Exception):
    """Raised for an expression whose value is unknown."""


EVALUATION_ERRORS = (UnknownValueError, ValueError, TypeError, IndexError)


class VersionText(str):
    """The text of `torch.__version__`, which compares as a version; the results of its methods are plain text."""


def evaluate_version(node: ast.expr, use: Use, version: str) -> object:
    """Evaluate an expression for a version of torch. Raises UnknownValueError."""
    if node is use.node or ast.dump(node) == ast.dump(use.node):
        return VersionText(version) if use.symbol == "torch.__version__" else version
    match node:
        case ast.Call(func=ast.Name(id="str" | "float" | "int" as name), args=[argument], keywords=[]):
            value = evaluate_version(argument, use, version)
            return {"str": str, "float": float, "int": int}[name](value)
        case ast.Call(
            func=ast.Attribute(value=inner, attr="split"), args=[ast.Constant(value=str(separator))]
        ):
            return str(evaluate_version(inner, use, version)).split(separator)
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value=str(separator)), attr="join"), args=[inner]
        ):
            return separator.join(_evaluate_parts(inner, use, version))
        case ast.Call(
            func=ast.Name(id="tuple" | "list"),
            args=[ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="int"), inner])],
        ):
            return [int(part) for part in _evaluate_parts(inner, use, version)]
        case ast.Call(
            func=ast.Name(id="parse" | "Version") | ast.Attribute(attr="parse" | "Version"),
            args=[inner],
            keywords=[],
        ):
            from packaging.version import Version as Parsed

            return Parsed(str(evaluate_version(inner, use, version)))
        case ast.Attribute(
            value=inner, attr="major" | "minor" | "micro" | "release" | "base_version" as name
        ):
            value = evaluate_version(inner, use, version)
            if hasattr(value, name):
                return getattr(value, name)
        case ast.Subscript(value=inner, slice=part):
            value = evaluate_version(inner, use, version)
            if isinstance(value, (str, list, tuple)):
                return value[_evaluate_index(part)]
        case ast.Name(id=name):
            scope = use.place.scope.find_scope(name)
            bound = scope.bindings[name] if scope is not None else []
            if len(bound) == 1 and bound[0].value is not None:
                return evaluate_version(bound[0].value, use, version)
    raise UnknownValueError


def _evaluate_parts(node: ast.expr, use: Use, version: str) -> list[str]:
    """Evaluate an expression that splits a version into parts. Raises UnknownValueError."""
    value = evaluate_version(node, use, version)
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return value
    raise UnknownValueError


def _evaluate_index(node: ast.expr) -> int | slice:
    """Evaluate a literal index or slice. Raises UnknownValueError or ValueError."""
    if isinstance(node, ast.Slice):
        ends = [None if end is None else ast.literal_eval(end) for end in (node.lower, node.upper, node.step)]
        return slice(*ends)
    index = ast.literal_eval(node)
    if not isinstance(index, int):
        raise UnknownValueError
    return index
