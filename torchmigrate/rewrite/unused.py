"""Removal of imports that a fix has left unused."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from torchmigrate.rewrite.changes import DropImports
from torchmigrate.semantics.uses import Uses


def unused_after(before: Uses, after: Uses, keeps: Callable[[str], bool]) -> Iterator[DropImports]:
    """Yield the changes that remove imports of ``after`` whose names were read in ``before`` and no longer are.

    Names stay if other files import them (``keeps``), if they are in a package's ``__init__.py``, in a string (as in
    ``__all__``) or in a type comment, and if their import has a ``noqa`` comment or is inside a ``try``.
    """
    if before.source.path.endswith("__init__.py"):
        return
    lost = {name for name in _read(before) - _read(after) if not keeps(name)}
    for place in after.scopes.places:
        statement = place.statement
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            continue
        gone = [alias for alias in statement.names if (alias.asname or alias.name.partition(".")[0]) in lost]
        in_try = any(isinstance(parent, ast.Try) for parent in place.ancestors())
        has_noqa = any("noqa" in line for line in after.source.lines(after.source.span(statement)))
        if gone and not in_try and not has_noqa:
            yield DropImports(statement, tuple(gone))


def _read(uses: Uses) -> set[str]:
    names = set()
    for node in ast.walk(uses.source.tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.update(re.findall(r"\w+", node.value))
    for comment in re.findall(rb"#\s*type:([^\r\n]*)", uses.source.text):
        names.update(re.findall(r"\w+", comment.decode()))
    return names
