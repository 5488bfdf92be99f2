"""How a qualified name is spelled at a place of a file, and the imports that come and go with it."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from torchmigrate.model.findings import Edit
from torchmigrate.semantics.resolve import string
from torchmigrate.semantics.scopes import Binding, BindingKind, Place, Scope
from torchmigrate.semantics.uses import Use, Uses
from torchmigrate.text.source import Source


@dataclass(frozen=True, slots=True)
class Spelling:
    """The text that names a symbol at a place, and the import edits that the text needs."""

    text: str
    edits: tuple[Edit, ...] = ()


class Imports:
    """The imports of one file."""

    def __init__(self, source: Source, uses: Uses) -> None:
        self.source = source
        self.uses = uses

    def spell(self, name: str, use: Use) -> Spelling | None:
        """How to write the qualified ``name`` where ``use`` is, in the file's own style.

        Takes the use's own prefix where it leads there (``t.jit.script`` → ``t.cuda``), else any name in sight;
        else it is imported, in a ``from`` import of the same module if there is one. None if that would
        clobber a name.
        """
        parts = name.split(".")
        for length in range(len(parts), 0, -1):
            prefix = ".".join(parts[:length])
            text = self._own_prefix(use, prefix) or self._in_sight(use, prefix)
            if text is not None:
                return Spelling(".".join([text, *parts[length:]]))
        return self._extend(name) or self._import(name)

    def _own_prefix(self, use: Use, prefix: str) -> str | None:
        node: ast.AST = use.node
        while isinstance(node, ast.Attribute):
            node = node.value
            resolved = self.uses.names.resolve(node, use.place.scope)
            if resolved is not None and resolved.certain and resolved.names[0] == prefix:
                return self.source.segment(node)
        return None

    def _in_sight(self, use: Use, prefix: str) -> str | None:
        """A name bound by an import of a scope around (not by an assignment, which may come later)."""
        scope: Scope | None = use.place.scope
        inner: set[str] = set()
        while scope is not None:
            for name, bindings in scope.bindings.items():
                if name not in inner and all(self._is_plain(b, scope, use) for b in bindings):
                    resolved = self.uses.names.resolve_name(name, use.place.scope)
                    if resolved is not None and resolved.certain and resolved.names[0] == prefix:
                        return name
            inner.update(scope.bindings)
            scope = scope.parent
            while scope is not None and scope.is_class:
                scope = scope.parent
        return None

    def _is_plain(self, binding: Binding, scope: Scope, use: Use) -> bool:
        """Whether the binding is an import that has run before the use."""
        if binding.kind not in (BindingKind.IMPORT, BindingKind.FROM) or binding.fallback:
            return False
        deferred = scope is not use.place.scope
        return isinstance(binding.node, ast.alias) and (
            binding.node.lineno < use.node.lineno or (deferred and scope is self.uses.scopes.module)
        )

    def rebind(self, use: Use, name: str) -> tuple[Edit, ...] | None:
        """The edits that let the imported name of ``use`` stand for another symbol, for all its uses at once.

        ``from torch.jit import Final`` → ``from typing import Final``. None unless the name is bound once, by a
        plain ``from`` import.
        """
        if isinstance(use.node, ast.Name):
            bound = use.node.id
        elif isinstance(use.node, ast.alias):
            bound = use.node.asname or use.node.name
        else:
            return None
        owner = use.place.scope.find(bound)
        bindings = owner.bindings[bound] if owner else []
        if len(bindings) != 1 or bindings[0].kind is not BindingKind.FROM or bindings[0].alternative:
            return None
        alias = bindings[0].node
        if not isinstance(alias, ast.alias):
            return None
        for place in self.uses.scopes.places:
            statement = place.statement
            if isinstance(statement, ast.ImportFrom) and alias in statement.names:
                module, _, leaf = name.rpartition(".")
                renamed = f"from {module} import {leaf}" + (f" as {bound}" if leaf != bound else "")
                return self._rebound(statement, alias, renamed)
        return None

    def _rebound(self, statement: ast.ImportFrom, alias: ast.alias, renamed: str) -> tuple[Edit, ...] | None:
        span = self.source.span(statement)
        if len(statement.names) == 1:
            return (Edit(span.start, span.end, renamed),)
        start = self.source.offset(statement.lineno, 0)
        indent = self.source.text[start : span.start].decode()
        shortened = _shortened(self.source, statement, [alias])
        if indent.strip() or shortened is None:
            return None
        return (Edit(shortened.start, shortened.end, f"{renamed}\n{indent}{shortened.text}"),)

    def _extend(self, name: str) -> Spelling | None:
        """Adds to a ``from`` import of the same module that stands at the top level of the file."""
        module, _, leaf = name.rpartition(".")
        if hasattr(builtins, leaf) or any(leaf in s.bindings or s.stars for s in self.uses.scopes.all):
            return None
        for statement in self.uses.scopes.module.node.body:
            if isinstance(statement, ast.ImportFrom) and statement.module == module and not statement.level:
                end = self.source.span(statement.names[-1]).end
                return Spelling(leaf, (Edit(end, end, f", {leaf}"),))
        return None

    def _import(self, name: str) -> Spelling | None:
        """Adds ``import torch`` for a name of torch's, or a ``from`` import for another."""
        module, _, leaf = name.rpartition(".")
        statement, bound, text = f"from {module} import {leaf}", leaf, leaf
        if name.startswith("torch."):
            statement, bound, text = "import torch", "torch", name
        if any(bound in scope.bindings for scope in self.uses.scopes.all):
            return None
        return Spelling(text, (self.import_edit(statement),))

    def import_edit(self, statement: str) -> Edit:
        """The edit that adds an import statement to the module, before its first one that is not ``__future__``'s."""
        body = self.uses.scopes.module.node.body
        for node in body:
            future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            if isinstance(node, (ast.Import, ast.ImportFrom)) and not future:
                at = self.source.offset(node.lineno, 0)
                return Edit(at, at, statement + "\n")
        head = [n for i, n in enumerate(body) if _is_docstring(n, i) or isinstance(n, ast.ImportFrom)]
        after = (head[-1].end_lineno if head else None) or _first_lines(self.source.text)
        starts = self.source.line_starts
        at = starts[after] if after < len(starts) else len(self.source.text)
        return Edit(at, at, statement + "\n" if head else statement + "\n\n")


def _first_lines(text: bytes) -> int:
    """How many lines name the interpreter or the encoding, and have to come first."""
    number = 0
    for line, content in enumerate(text.splitlines()[:2], 1):
        if not content.startswith(b"#"):
            break
        if content.startswith(b"#!") or b"coding" in content:
            number = line
    return number


def _is_docstring(node: ast.stmt, index: int) -> bool:
    return index == 0 and isinstance(node, ast.Expr) and string(node.value) is not None


def unused_after(before: Uses, after: Uses, keeps: Callable[[str], bool]) -> Iterator[Edit]:
    """The edits that remove imports of ``after`` whose names were read in ``before`` and are no more.

    Left alone are names that ``keeps`` says others import from the file, those of a package's ``__init__.py`` or
    of ``__all__``, imports under a ``noqa`` comment or inside a ``try``, and every name that a string or a type
    comment of the file spells.
    """
    if before.source.path.endswith("__init__.py"):
        return
    lost = {name for name in _read(before) - _read(after) if not keeps(name)}
    for place in after.scopes.places:
        statement = place.statement
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            continue
        gone = [alias for alias in statement.names if _bound_name(alias) in lost]
        in_try = any(isinstance(parent, ast.Try) for parent in place.ancestors())
        if gone and not in_try and not _has_noqa(after.source, statement):
            edit = _without(after, place, statement, gone)
            if edit is not None:
                yield edit


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


def _bound_name(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _has_noqa(source: Source, statement: ast.stmt) -> bool:
    return any("noqa" in line for line in source.lines(source.span(statement)))


def _without(
    uses: Uses, place: Place, statement: ast.Import | ast.ImportFrom, gone: list[ast.alias]
) -> Edit | None:
    """The edit that takes names out of an import; None for all of them where it shares its lines with anything."""
    source = uses.source
    span = source.span(statement)
    line_start = source.offset(statement.lineno, 0)
    line_end = source.whole_line(span.end - 1).end
    if len(gone) < len(statement.names):
        return _shortened(source, statement, gone)
    if source.text[line_start : span.start].strip() or source.text[span.end : line_end].strip():
        return None
    siblings = place.parent.statement if place.parent else uses.scopes.module.node
    blocks = [getattr(siblings, name, []) for name in ("body", "orelse", "finalbody")]
    if any(block == [statement] for block in blocks) or not any(statement in block for block in blocks):
        return Edit(span.start, span.end, "pass") if place.parent else Edit(line_start, line_end, "")
    return Edit(line_start, line_end, "")


def _shortened(source: Source, statement: ast.Import | ast.ImportFrom, gone: list[ast.alias]) -> Edit | None:
    """The statement with fewer names; libcst keeps its parentheses, line breaks and comments."""
    import libcst as cst

    from torchmigrate.rewrite.concrete import Concrete, NoConcreteTree

    try:
        concrete = Concrete.of(source, statement)
    except NoConcreteTree:
        return None
    node: cst.ImportFrom | cst.Import
    if isinstance(statement, ast.ImportFrom):
        node = concrete.at(source.span(statement), cst.ImportFrom)
    else:
        node = concrete.at(source.span(statement), cst.Import)
    if isinstance(node.names, cst.ImportStar):
        return None
    kept = [name for name, alias in zip(node.names, statement.names, strict=True) if alias not in gone]
    kept[-1] = kept[-1].with_changes(comma=node.names[-1].comma)
    span = source.span(statement)
    return Edit(span.start, span.end, concrete.code(node.with_changes(names=kept)))
