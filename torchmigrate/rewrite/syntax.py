"""The changes of a fix, made to the `ast` tree, to analyze the changed program without writing its text.

Both trees share the nodes that do not change.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import TypeVar

from torchmigrate.model.findings import Change

from . import changes as kinds
from .parts import marked, part_of

Node = TypeVar("Node", bound=ast.AST)


def rewritten(tree: ast.Module, changes: Iterable[Change]) -> ast.Module:
    """Return the tree with the changes made. Raises TypeError for kinds of changes that are not supported here."""
    changes = [*changes]
    program = _Program(changes).rewritten(tree)
    imported = (needed for change in changes for symbol in kinds.symbols(change) for needed in symbol.changes)
    return _with_imports(program, imported)


class _Program:
    def __init__(self, changes: Iterable[Change]) -> None:
        self._expressions: dict[ast.AST, kinds.Template] = {}
        self._statements: dict[ast.AST, list[Change]] = {}
        for change in changes:
            match change:
                case kinds.Replace(node=node, new=new):
                    self._expressions[node] = new
                case kinds.Merge(statements=(*merged, last), new=new):
                    for statement in merged:
                        self._statements.setdefault(statement, []).append(kinds.Remove(statement))
                    self._statements.setdefault(last, []).append(kinds.ReplaceStatement(last, new))
                case kinds.Remove() | kinds.Insert() | kinds.ReplaceStatement():
                    self._statements.setdefault(change.statement, []).append(change)
                case _:
                    raise TypeError(f"not made on syntax trees: {change}")

    def rewritten(self, node: Node, *, is_part: bool = False) -> Node:
        """Return the node with changes made; ``is_part`` skips its own replacement, of which the node is a part."""
        new = None if is_part else self._expressions.get(node)
        if new is not None:
            (statement,) = self._filled(new, node, of=node)
            assert isinstance(statement, ast.Expr)
            return _in_context(statement.value, node)  # type: ignore[return-value]
        fields: dict[str, object] = {}
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                changed: object = self._listed(value)
            else:
                changed = self.rewritten(value) if isinstance(value, ast.AST) else value
            if changed is not value:
                fields[name] = changed
        if not fields:
            return node
        result = copy(node)
        for name, changed in fields.items():
            setattr(result, name, changed)
        return result

    def _listed(self, items: list[object]) -> list[object]:
        made: list[object] = []
        for item in items:
            if isinstance(item, ast.stmt):
                made += self._statement(item)
            else:
                made.append(self.rewritten(item) if isinstance(item, ast.AST) else item)
        if not made and items:
            made = [_passing(items[0])]
        return items if len(made) == len(items) and all(map(operator.is_, made, items)) else made

    def _statement(self, statement: ast.stmt) -> Sequence[ast.stmt]:
        before: list[ast.stmt] = []
        after: list[ast.stmt] = []
        own: list[ast.stmt] | None = None
        for change in self._statements.get(statement, ()):
            match change:
                case kinds.Remove():
                    own = []
                case kinds.ReplaceStatement(new=new):
                    own = self._filled(new, statement)
                case kinds.Insert(new=new, after=behind):
                    (after if behind else before).extend(self._filled(new, statement))
        return [*before, *([self.rewritten(statement)] if own is None else own), *after]

    def _filled(self, new: kinds.Template, place: ast.AST, of: ast.AST | None = None) -> list[ast.stmt]:
        """Return the statements of a template with its parts filled in, all with the location of ``place``."""
        module = ast.parse(marked(new))
        for node in ast.walk(module):
            if isinstance(node, (ast.stmt, ast.expr)):
                ast.copy_location(node, place)
        filling = _Filling(new, lambda part: self._part(part, place, of))
        return [filling.visit(statement) for statement in module.body]

    def _part(self, part: ast.expr | kinds.Template, place: ast.AST, of: ast.AST | None) -> ast.expr:
        if isinstance(part, ast.expr):
            return self.rewritten(part, is_part=part is of)
        (statement,) = self._filled(part, place, of)
        assert isinstance(statement, ast.Expr)
        return statement.value


class _Filling(ast.NodeTransformer):
    def __init__(
        self, template: kinds.Template, build: Callable[[ast.expr | kinds.Template], ast.expr]
    ) -> None:
        self._template = template
        self._build = build

    def visit_Name(self, node: ast.Name) -> ast.expr:
        part = part_of(node.id, self._template)
        return node if part is None else _in_context(self._build(part), node)


def _with_imports(tree: ast.Module, changes: Iterable[Change]) -> ast.Module:
    added: list[ast.Import | ast.ImportFrom] = []
    for change in changes:
        match change:
            case kinds.AddImport(module=module, name=None):
                added.append(ast.Import([ast.alias(module)]))
            case kinds.AddImport(module=module, name=str() as name):
                added.append(ast.ImportFrom(module, [ast.alias(name)], 0))
            case kinds.ExtendImport(statement=extended, name=name, bound=bound):
                added.append(ast.ImportFrom(extended.module, [ast.alias(name, bound)], extended.level))
    if not added:
        return tree
    for statement in added:
        statement.lineno = statement.end_lineno = 1
        statement.col_offset = statement.end_col_offset = 0
        for alias in statement.names:
            ast.copy_location(alias, statement)
    result = copy(tree)
    result.body = [*added, *tree.body]
    return result


def _in_context(made: ast.expr, place: ast.AST) -> ast.expr:
    """Return the expression with the context (load, store or delete) of ``place``."""
    context = getattr(place, "ctx", None)
    if context is None or getattr(made, "ctx", context) is context:
        return made
    made = copy(made)
    made.ctx = context  # type: ignore[attr-defined]
    return made


def _passing(removed: object) -> ast.stmt:
    assert isinstance(removed, ast.stmt)
    return ast.copy_location(ast.Pass(), removed)
