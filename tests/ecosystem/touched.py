"""Tells which functions of a package differ between two versions of its source files."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

Definition = ast.FunctionDef | ast.AsyncFunctionDef


def touched(before: Path, after: Path) -> set[str]:
    """The dotted names of all functions and methods below ``before`` that are not the same below ``after``.

    A function differs if its source does, decorators and overloads included, or if it names, or belongs to, something
    that the top of its module binds differently.
    """
    found = set()
    for path in sorted(before.rglob("*.py")):
        other = after / path.relative_to(before)
        if path.read_bytes() != other.read_bytes():
            old, new = _sources(path, before), _sources(other, after)
            rebound = {name for name, _ in {*_bindings(path)} ^ {*_bindings(other)}}
            for name, node in functions(path, before):
                names = {*name.split("."), *(n.id for n in ast.walk(node) if isinstance(n, ast.Name))}
                if old[name] != new[name] or names & rebound:
                    found.add(name)
    return found


def functions(path: Path, folder: Path) -> Iterator[tuple[str, Definition]]:
    """Every function of a file with its dotted name: its module in ``folder``, the classes and functions around it."""
    module = ".".join(path.relative_to(folder).with_suffix("").parts)
    yield from _functions(ast.parse(path.read_bytes()), f"{module}.")


def _functions(tree: ast.AST, prefix: str) -> Iterator[tuple[str, Definition]]:
    for node in ast.iter_child_nodes(tree):
        name = f"{prefix}{node.name}" if isinstance(node, Definition | ast.ClassDef) else ""
        if isinstance(node, Definition):
            yield name, node
        yield from _functions(node, f"{name}." if name else prefix)


def _sources(path: Path, folder: Path) -> dict[str, list[str]]:
    sources = defaultdict(list)
    for name, node in functions(path, folder):
        sources[name].append(ast.dump(node))
    return sources


def _bindings(path: Path) -> Iterator[tuple[str, str]]:
    """Every name that a statement at the top binds, with the text of what binds it; functions and classes aside."""
    for node in ast.parse(path.read_bytes()).body:
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                module = node.module if isinstance(node, ast.ImportFrom) else ""
                yield from ((alias.asname or alias.name, f"{module}.{alias.name}") for alias in names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                pass
            case _:
                for inner in ast.walk(node):
                    if isinstance(inner, ast.alias):
                        yield inner.asname or inner.name, ast.dump(node)
                    elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                        yield inner.id, ast.dump(node)
