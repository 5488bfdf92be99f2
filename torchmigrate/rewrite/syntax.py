"""The changes of a fix, made on the syntax tree: for who asks what the changed program would do, and not how it reads.

Nodes that do not change belong to both trees.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import TypeVar

from torchmigrate.model.findings import Change

from . import changes as say
from .parts import marked, part_of

Node = TypeVar("Node", bound=ast.AST)


def rewritten(tree: ast.Module, changes: Iterable[Change]) -> ast.Module:
    """The tree with changes of expressions, statements and imports made. Raises TypeError for others."""
    changes = [*changes]
    program = _Program(changes).rewritten(tree)
    imported = (needed for change in changes for symbol in say.symbols(change) for needed in symbol.changes)
    return _with_imports(program, imported)


class _Program:
    def __init__(self, changes: Iterable[Change]) -> None:
        self._expressions: dict[ast.AST, say.Template] = {}
        self._statements: dict[ast.AST, list[Change]] = {}
        for change in changes:
            match change:
                case say.Replace(node=node, new=new):
                    self._expressions[node] = new
                case say.Merge(statements=(*merged, last), new=new):
                    for statement in merged:
                        self._statements.setdefault(statement, []).append(say.Remove(statement))
                    self._statements.setdefault(last, []).append(say.ReplaceStatement(last, new))
                case say.Remove() | say.Insert() | say.ReplaceStatement():
                    self._statements.setdefault(change.statement, []).append(change)
                case _:
                    raise TypeError(f"not made on syntax trees: {change}")

    def rewritten(self, node: Node, *, is_part: bool = False) -> Node:
        """The node with changes made; ``is_part``: but for its own replacement, which it is a part of."""
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
        return items if len(made) == len(items) and all(map(_is, made, items)) else made

    def _statement(self, statement: ast.stmt) -> Sequence[ast.stmt]:
        before: list[ast.stmt] = []
        after: list[ast.stmt] = []
        own: list[ast.stmt] | None = None
        for change in self._statements.get(statement, ()):
            match change:
                case say.Remove():
                    own = []
                case say.ReplaceStatement(new=new):
                    own = self._filled(new, statement)
                case say.Insert(new=new, after=behind):
                    (after if behind else before).extend(self._filled(new, statement))
        return [*before, *([self.rewritten(statement)] if own is None else own), *after]

    def _filled(self, new: say.Template, place: ast.AST, of: ast.AST | None = None) -> list[ast.stmt]:
        """The statements of a template, with parts in place, as if all stood at ``place``."""
        module = ast.parse(marked(new))
        for node in ast.walk(module):
            if isinstance(node, (ast.stmt, ast.expr)):
                ast.copy_location(node, place)
        filling = _Filling(new, {part: self._part(part, place, of) for part in _parts(module, new)})
        return [filling.visit(statement) for statement in module.body]

    def _part(self, part: ast.expr | say.Template, place: ast.AST, of: ast.AST | None) -> ast.expr:
        if isinstance(part, ast.expr):
            return self.rewritten(part, is_part=part is of)
        (statement,) = self._filled(part, place, of)
        assert isinstance(statement, ast.Expr)
        return statement.value


class _Filling(ast.NodeTransformer):
    def __init__(self, template: say.Template, made: Mapping[object, ast.expr]) -> None:
        self._template = template
        self._made = made

    def visit_Name(self, node: ast.Name) -> ast.expr:
        part = part_of(node.id, self._template)
        return node if part is None else _in_context(self._made[part], node)


def _parts(module: ast.Module, template: say.Template) -> list[ast.expr | say.Template]:
    names = (node for node in ast.walk(module) if isinstance(node, ast.Name))
    return [part for name in names if (part := part_of(name.id, template)) is not None]


def _with_imports(tree: ast.Module, changes: Iterable[Change]) -> ast.Module:
    added: list[ast.Import | ast.ImportFrom] = []
    for change in changes:
        match change:
            case say.AddImport(module=module, name=None):
                added.append(ast.Import([ast.alias(module)]))
            case say.AddImport(module=module, name=str() as name):
                added.append(ast.ImportFrom(module, [ast.alias(name)], 0))
            case say.ExtendImport(statement=extended, name=name, bound=bound):
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
    """The expression, to be read where ``place`` is read, and written where that is written."""
    context = getattr(place, "ctx", None)
    if context is None or getattr(made, "ctx", context) is context:
        return made
    made = copy(made)
    made.ctx = context  # type: ignore[attr-defined]
    return made


def _passing(removed: object) -> ast.stmt:
    assert isinstance(removed, ast.stmt)
    return ast.copy_location(ast.Pass(), removed)


def _is(one: object, other: object) -> bool:
    return one is other
