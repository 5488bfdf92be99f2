"""Tells which definitions of a package differ between two versions of its source files."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

Definition = ast.FunctionDef | ast.AsyncFunctionDef


def touched(before: Path, after: Path) -> set[str]:
    """The dotted names of all functions and methods below ``before`` that are not the same below ``after``.

    A function differs if its source does, decorators and overloads included, or if it names, or belongs to, something
    at the top of its module that does.
    """
    found: set[str] = set()
    for path in sorted(before.rglob("*.py")):
        other = after / path.relative_to(before)
        if path.read_bytes() != other.read_bytes():
            trees = [ast.parse(file.read_bytes()) for file in (path, other)]
            module = ".".join(path.relative_to(before).with_suffix("").parts)
            found |= {f"{module}.{name}" for name in _differing(*trees)}
    return found


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Definition]]:
    """Every function with its qualified name, as in ``__qualname__`` but without ``<locals>``."""
    for node in ast.iter_child_nodes(tree):
        name = f"{prefix}{node.name}" if isinstance(node, Definition | ast.ClassDef) else ""
        if isinstance(node, Definition):
            yield name, node
        yield from functions(node, f"{name}." if name else prefix)


def _differing(before: ast.Module, after: ast.Module) -> Iterator[str]:
    texts, others = _texts(before), _texts(after)
    changed = _bound_by_changed(before, after)
    definitions = defaultdict(list)
    for name, node in functions(before):
        definitions[name].append(node)
    for name, nodes in definitions.items():
        names = {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)} | {
            *name.split(".")
        }
        if texts[name] != others.get(name) or names & changed:
            yield name


def _texts(tree: ast.Module) -> dict[str, list[str]]:
    texts = defaultdict(list)
    for name, node in functions(tree):
        texts[name].append(ast.dump(node))
    return texts


def _bound_by_changed(before: ast.Module, after: ast.Module) -> set[str]:
    """The names that the top of one of the modules binds in a way that the other one does not."""
    return {name for name, _ in {*_bindings(before)} ^ {*_bindings(after)}}


def _bindings(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Every name that a statement at the top binds, with the text of what binds it; functions and classes aside."""
    for node in tree.body:
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
