"""The class or function of the project that a name in any of its files stands for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.project.indexed_file import IndexedFile, index_file
from torchmigrate.project.project_facts import Project

Definition = ast.ClassDef | ast.FunctionDef
_DEPTH = 4


def find_definition(
    node: ast.expr, file: IndexedFile, project: Project, depth: int = _DEPTH
) -> tuple[Definition, IndexedFile] | None:
    """Return the class or function that an expression names in a file, and the file that defines it; None for any other."""
    for one in file.variables.get(node.id, ()) if isinstance(node, ast.Name) else ():
        if isinstance(one, Definition):
            return one, file
    imported = find_imported_name(node, file, project)
    possible = (
        [imported] if imported is not None else [star + ast.unparse(node) for star in _list_stars(file)]
    )
    links = project.create_links(file.path)
    for spelled in possible if depth else ():
        for path, name, others in links.iter_splits(spelled):
            other = index_file(project, path) if not others else None
            found = find_definition(ast.Name(name), other, project, depth - 1) if other is not None else None
            if found is not None:
                return found
    return None


def find_imported_name(node: ast.expr, file: IndexedFile, project: Project) -> str | None:
    """Return the dotted name that an expression has by the imports of a file: ``nn.Linear`` → "torch.nn.Linear"."""
    first, _, rest = ast.unparse(node).partition(".")
    imports = project.compute_once((_map_imports, file.path), lambda: dict(_map_imports(file)))
    imported = imports.get(first)
    return f"{imported}.{rest}" if imported and rest else imported


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


def _list_stars(file: IndexedFile) -> list[str]:
    """Return the modules from which a file imports everything, as they precede a name: ``.layers.``."""
    stars = (
        node
        for node in file.tree.body
        if isinstance(node, ast.ImportFrom) and any(one.name == "*" for one in node.names)
    )
    return ["." * one.level + (f"{one.module}." if one.module else "") for one in stars]
