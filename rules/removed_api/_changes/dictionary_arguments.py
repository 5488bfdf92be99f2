"""The arguments of a call: those that a change requires besides its own, and those that ``**`` unpacks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fnmatch import fnmatchcase

from torchmigrate.api import Context, Use
from torchmigrate.tables.api_changes import ApiChange


def has_required_arguments(call: ast.Call, change: ApiChange) -> bool:
    """Return whether a call has the other arguments that a change requires, and none that it rules out."""
    values = (keyword.value for keyword in call.keywords)
    codes = [ast.unparse(one) for one in (*call.args, *call.keywords, *values)] if change.others else []
    return all(
        any(fnmatchcase(code, other.removeprefix("!")) for code in codes) is not other.startswith("!")
        for other in change.others
    )


def find_unpacked(call: ast.Call, use: Use, ctx: Context) -> Iterator[ast.keyword]:
    """Yield the keywords that ``**`` unpacks, if the file spells out the dictionary: ``options = {"verbose": True}``."""
    for keyword in call.keywords:
        if keyword.arg is None:
            yield from find_entries(keyword.value, use, ctx)


def find_entries(given: ast.expr, use: Use, ctx: Context) -> Iterator[ast.keyword]:
    """Yield the entries of a dictionary written as ``{"name": value}`` or ``dict(name=value)``, as keywords."""
    kept = ctx.uses.data_flow.find_definition(given, use.place.scope) if isinstance(given, ast.Name) else None
    written = kept or given
    if isinstance(written, ast.Dict):
        for key, value in zip(written.keys, written.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield create_keyword(key.value, key, value)
    elif isinstance(written, ast.Call) and isinstance(written.func, ast.Name) and written.func.id == "dict":
        yield from (keyword for keyword in written.keywords if keyword.arg is not None)


def create_keyword(name: str, first: ast.expr, value: ast.expr) -> ast.keyword:
    """Create a keyword for a name and a value that are not joined by ``=``; it spans from ``first``, the name, to the value."""
    end = {"end_lineno": value.end_lineno, "end_col_offset": value.end_col_offset}
    return ast.keyword(name, value, lineno=first.lineno, col_offset=first.col_offset, **end)
