"""The keywords of a call that creates an optimizer, and whether they decide how its step is computed."""

from __future__ import annotations

import ast

from torchmigrate.api import Context, Use
from torchmigrate.semantics.name_resolution import last_name, string_value

from .enclosing_nodes import enclosing_body, walk_body

_DECIDING = frozenset({None, "fused", "foreach", "capturable", "differentiable"})
"""Keywords that decide the implementation; None is a mapping whose keys are unknown."""


def is_decided(call: ast.Call, use: Use, ctx: Context) -> bool:
    """Return whether a call may already choose how the optimizer computes its step."""
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    names = (name for keyword in call.keywords for name in _find_keyword_names(keyword, use, ctx))
    return starred or any(name in _DECIDING for name in names)


def _find_keyword_names(keyword: ast.keyword, use: Use, ctx: Context) -> list[str | None]:
    """Return the name of a keyword, or the keys of the mapping that ``**`` unpacks, if the file spells it out."""
    unpacked = keyword.value
    if keyword.arg is not None:
        return [keyword.arg]
    if isinstance(unpacked, ast.Name) and not _is_otherwise_used(unpacked, use, ctx):
        unpacked = ctx.uses.data_flow.find_definition(unpacked, use.place.scope) or unpacked
    if isinstance(unpacked, ast.Dict):
        return [string_value(key) if key is not None else None for key in unpacked.keys]
    if isinstance(unpacked, ast.Call) and last_name(unpacked.func) == "dict" and not unpacked.args:
        return [one.arg for one in unpacked.keywords]
    return [None]


def _is_otherwise_used(mapping: ast.Name, use: Use, ctx: Context) -> bool:
    """Return whether the enclosing function does anything with a mapping but unpack it."""
    read = [
        one
        for one in walk_body(enclosing_body(use, ctx))
        if isinstance(one, ast.Name) and one.id == mapping.id
    ]
    parents = ctx.uses.data_flow.parents
    return any(not isinstance(parents.get(one), (ast.keyword, ast.Assign)) for one in read)
