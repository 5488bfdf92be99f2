"""Removal of imports that a fix has left unused."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from torchmigrate.rewrite.changes import DropImports
from torchmigrate.semantics.symbol_uses import SymbolUses


def find_unused_imports(
    before: SymbolUses, after: SymbolUses, keeps: Callable[[str, bool], bool]
) -> Iterator[DropImports]:
    """Yield the changes that remove imports of ``after`` whose names code read in ``before``, and nothing does now.

    An import whose name stood only in a string that is no annotation was unused before, too, and is not the fix's to
    remove. Names stay if other files import them (``keeps``, which is also told whether a star would), if they are in a
    package's ``__init__.py``, in a string (as in ``__all__``) or in a type comment, and if their import has a ``noqa``
    comment or is inside a ``try``.
    """
    if before.source.path.endswith("__init__.py"):
        return
    # A star takes only the names in `__all__`, which are strings of the file.
    with_stars = "__all__" not in after.scopes.module.bindings
    quoted = _collect_quoted_names(after.source.syntax_tree)
    unread = _collect_read_names(before) - _collect_read_names(after) - quoted
    lost = {name for name in unread if not keeps(name, with_stars)}
    for place in after.scopes.places:
        statement = place.statement
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            continue
        gone = [alias for alias in statement.names if (alias.asname or alias.name.partition(".")[0]) in lost]
        in_try = any(isinstance(parent, ast.Try) for parent in place.enclosing_statements())
        has_noqa = any("noqa" in line for line in after.source.get_lines(after.source.span_of(statement)))
        if gone and not in_try and not has_noqa:
            yield DropImports(statement, tuple(gone))


def _collect_read_names(uses: SymbolUses) -> set[str]:
    """Return the names that code reads, also in quoted annotations and in type comments."""
    names = set()
    for node in ast.walk(uses.source.syntax_tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        annotation = getattr(node, "returns", None) or getattr(node, "annotation", None)
        if isinstance(annotation, ast.expr):
            names |= _collect_quoted_names(annotation)
    for comment in re.findall(rb"#\s*type:([^\r\n]*)", uses.source.text):
        names.update(re.findall(r"\w+", comment.decode()))
    return names


def _collect_quoted_names(tree: ast.AST) -> set[str]:
    """Return all words in the strings of a tree."""
    strings = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {word for text in strings if isinstance(text, str) for word in re.findall(r"\w+", text)}
