"""The class or function of the project that a name in any of its files stands for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.project.indexed_file import IndexedFile, index_file

if TYPE_CHECKING:
    from torchmigrate.api import Context

Definition = ast.ClassDef | ast.FunctionDef
_DEPTH = 4


def find_definition(
    node: ast.expr, file: IndexedFile, ctx: Context, depth: int = _DEPTH
) -> tuple[Definition, IndexedFile] | None:
    """Return the class or function that an expression names in a file, and the file that defines it; None for any other."""
    dotted = ast.unparse(node)
    first, _, rest = dotted.partition(".")
    for one in file.variables.get(first, ()) if not rest else ():
        if isinstance(one, Definition):
            return one, file
    imported = ctx.project.compute_once((_map_imports, file.path), lambda: dict(_map_imports(file))).get(
        first
    )
    if imported is None or not depth:
        return None
    links = ctx.project.create_links(file.path)
    for path, name, others in links.iter_splits(f"{imported}.{rest}" if rest else imported):
        other = index_file(ctx.project, path) if not others else None
        if other is not None:
            return find_definition(ast.Name(name), other, ctx, depth - 1)
    return None


def _map_imports(file: IndexedFile) -> Iterator[tuple[str, str]]:
    """Yield the names that imports of a file bind, each with what is imported, relative names with their dots."""
    for node in file.parents:
        if isinstance(node, ast.Import):
            yield from (
                (a.asname, a.name) if a.asname else (a.name.partition(".")[0],) * 2 for a in node.names
            )
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (f"{node.module}." if node.module else "")
            yield from ((a.asname or a.name, module + a.name) for a in node.names)
