"""Arguments that are handed over as ``**options``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchmigrate.semantics.resolve import leaf, string

if TYPE_CHECKING:
    from torchmigrate.api import Use


def hidden_options(use: Use, call: ast.Call) -> dict[str, ast.expr] | None:
    """What ``**options`` holds, where it is a dictionary of this function without a device; None if unknown."""
    hidden = [given.value for given in call.keywords if given.arg is None]
    if not hidden:
        return {}
    if len(hidden) > 1 or not isinstance(hidden[0], ast.Name):
        return None
    owner = use.place.scope.find(hidden[0].id)
    bindings = owner.bindings[hidden[0].id] if owner else []
    value = bindings[0].value if len(bindings) == 1 else None
    if owner is None or value is None or may_hold_device(use):
        return None
    if isinstance(value, ast.Dict) and all(key is not None and string(key) for key in value.keys):
        return {string(k) or "": v for k, v in zip(value.keys, value.values, strict=True) if k is not None}
    if isinstance(value, ast.Call) and leaf(value.func) == "dict" and not value.args:
        return {given.arg or "": given.value for given in value.keywords}
    return None


def may_hold_device(use: Use) -> bool:
    """Whether the function speaks of a device that its hidden options may hold."""
    return "device_id" in _words(use.place.scope.node)


def _words(node: ast.AST) -> set[str]:
    """The strings, and names of keyword arguments, of a function."""
    found = set()
    for part in ast.walk(node):
        found.add((part.arg or "") if isinstance(part, ast.keyword) else string(part) or "")
    return found
