"""The walk over the expressions of a statement, which finds the uses of watched symbols in it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from functools import cached_property, partial
from itertools import pairwise
from typing import NamedTuple

from torchmigrate.model.qualified_names import COMPANION_PACKAGES
from torchmigrate.model.vocabulary import Kind
from torchmigrate.prefilter.watched_symbols import WatchedSymbols
from torchmigrate.semantics.candidate_lines import CandidateLines
from torchmigrate.semantics.name_resolution import (
    NameResolver,
    ResolvedName,
    getattr_name,
    innermost_object,
    last_name,
    string_value,
)
from torchmigrate.semantics.node_walks import walk_nodes
from torchmigrate.semantics.scopes import StatementPlace
from torchmigrate.semantics.use import Use
from torchmigrate.text.source_text import SourceText

_PATCHERS = frozenset({"patch", "setattr", "delattr", "spy", "stub"})
_PATCHED_OBJECT = frozenset({"setattr", "delattr", "object", "spy", "stub"})
_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_INSTANCE_CHECKS = frozenset({"isinstance", "issubclass", "assertIsInstance", "assertNotIsInstance"})


class ExpressionSurroundings(NamedTuple):
    """The context of the expression that the walk has reached."""

    parents: tuple[ast.AST, ...]
    shadowed: frozenset[str] = frozenset()
    """Names bound by enclosing lambdas and comprehensions."""
    kind: Kind | None = None
    """The kind of use that the position implies: annotation, base class, `isinstance` argument."""
    decorated: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | None = None
    located: bool = True
    """Whether positions are exact; those inside an f-string are not before Python 3.12."""

    def for_child(self, node: ast.AST) -> ExpressionSurroundings:
        """Return the context of a child of ``node``."""
        return ExpressionSurroundings((*self.parents, node), self.shadowed, self.kind, None, self.located)


class UseWalk:
    """Walks statement by statement, and collects the uses it finds."""

    def __init__(
        self, source: SourceText, watch: WatchedSymbols, names: NameResolver, hot: CandidateLines
    ) -> None:
        self.found: list[Use] = []
        self.unlinked: set[str] = set()
        """See `SymbolUses.unlinked_names`."""
        self._source = source
        self._watch = watch
        self._names = names
        self._hot = hot
        self._place: StatementPlace

    def walk_place(self, place: StatementPlace) -> None:
        """Walk the expressions of the statement at a place; the statements below it have places of their own."""
        self._place = place
        self._walk_children(place.statement, ExpressionSurroundings(()))

    def _walk_children(self, node: ast.AST, around: ExpressionSurroundings) -> None:
        """Walk the expressions below a node; the statements below it have places of their own."""
        plain = around.for_child(node)
        for name in node._fields:
            value = getattr(node, name, None)
            if not value:
                continue
            inner = plain
            if name in ("annotation", "returns"):
                inner = plain._replace(kind=Kind.ANNOTATION)
            elif name == "bases" or (name == "keywords" and isinstance(node, ast.ClassDef)):
                inner = plain._replace(kind=Kind.BASE)
            elif isinstance(node, _Definition) and name == "decorator_list":
                inner = plain._replace(decorated=node)
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not isinstance(child, ast.stmt):
                    self._visit_node(child, inner)

    def _visit_node(self, node: ast.AST, around: ExpressionSurroundings) -> None:
        if isinstance(node, ast.expr) and not self._hot.includes_node(node):
            return
        if isinstance(node, (ast.Name, ast.Attribute)):
            self._visit_string(node, around)
        elif isinstance(node, ast.Call):
            self._visit_call(node, around)
        elif isinstance(node, ast.Lambda):
            bound = {part.arg for part in ast.iter_child_nodes(node.args) if isinstance(part, ast.arg)}
            self._walk_children(node, around._replace(shadowed=around.shadowed | bound))
        elif isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            bound = {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
            self._walk_children(node, around._replace(shadowed=around.shadowed | bound))
        elif isinstance(node, ast.JoinedStr) and sys.version_info < (3, 12):
            for part in ast.walk(node):
                ast.copy_location(part, node)
            self._walk_children(node, around._replace(located=False))
        elif isinstance(node, ast.Constant):
            if around.kind is Kind.ANNOTATION and isinstance(node.value, str):
                self._parse_string_annotation(node, around)
            elif isinstance(node.value, str):
                for hit in self._watch.find_in_string(
                    node.value, partial(_is_module_argument, node, around.parents[-1])
                ):
                    self._add_use(*hit, Kind.STRING, node, around, True)
                for owner in self._patched_owners if node.value.isidentifier() else ():
                    replaced = self._names.extend_name(owner, f".{node.value}")
                    found = self._record_match(replaced)
                    if found is not None:
                        self._add_use(*found, Kind.ASSIGNMENT, node, around, True)
        else:
            self._walk_children(node, around)

    def _resolve_node(self, node: ast.AST, around: ExpressionSurroundings) -> ResolvedName | None:
        return self._names.resolve_expression(node, self._place.scope, around.shadowed)

    def _record_match(self, resolved: ResolvedName | None) -> tuple[str, str] | None:
        return self._watch.match_first(resolved.names) if resolved is not None else None

    def _visit_string(self, node: ast.Name | ast.Attribute, around: ExpressionSurroundings) -> None:
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            return
        resolved = self._resolve_node(node, around)
        hit = self._record_match(resolved)
        if hit is None and isinstance(node, ast.Attribute):
            # A method that is named after torch is torch's on whatever object it is.
            is_torch_object = resolved is None or _is_call_result(resolved) or "torch" in node.attr
            if node.attr in self._watch.methods and is_torch_object:
                self._add_use(
                    self._watch.methods[node.attr],
                    node.attr,
                    self._kind_of_use(node, around),
                    node,
                    around,
                    True,
                )
            elif resolved is not None:
                self._note_unlinked(resolved.names)
        if hit is None:
            self._walk_children(node, around)
            return
        assert resolved is not None
        self._note_unlinked(resolved.unlinked)
        self._add_use(*hit, self._kind_of_use(node, around), node, around, resolved.certain)
        inner = innermost_object(node)
        if not isinstance(inner, ast.Name):
            self._visit_node(inner, around.for_child(node))

    def _note_unlinked(self, names: Iterable[str]) -> None:
        """Note the names of the project's own modules that may turn out to be torch's."""
        for name in names:
            if not name.startswith("torch.") and self._watch.ends_like_symbol(name):
                self.unlinked.add(name)

    @cached_property
    def _patched_owners(self) -> list[ResolvedName]:
        """What the file sets attributes of by names in variables: ``for name in ("a", "b"): setattr(torch.cuda, name, fake)``."""
        if b"setattr" not in self._source.text:
            return []
        found = dict[tuple[str, ...], ResolvedName]()
        for scope in self._names.scopes.all:
            for node in walk_nodes(scope.node):
                if isinstance(node, ast.Call) and last_name(node.func) == "setattr" and len(node.args) >= 2:
                    owner = self._names.resolve_expression(node.args[0], scope)
                    if owner is not None and isinstance(node.args[1], ast.Name):
                        found[owner.names] = owner
        return [*found.values()]

    def _visit_call(self, node: ast.Call, around: ExpressionSurroundings) -> None:
        function = last_name(node.func)
        inside = around.for_child(node)._replace(kind=None)
        arguments = inside._replace(kind=Kind.ANNOTATION) if around.kind is Kind.ANNOTATION else inside
        if getattr_name(node) is not None:
            resolved = self._resolve_node(node, around)
            hit = self._record_match(resolved)
            if hit is not None and resolved is not None:
                self._add_use(*hit, self._kind_of_use(node, around), node, around, resolved.certain)
        elif function in _PATCHED_OBJECT | {"hasattr"} and len(node.args) >= 2:
            resolved = self._names.extend_name(
                self._resolve_node(node.args[0], around), _literal_attribute(node.args[1])
            )
            hit = self._record_match(resolved)
            if hit is not None and resolved is not None:
                kind = Kind.GUARD if function == "hasattr" else Kind.ASSIGNMENT
                self._add_use(*hit, kind, node, around, resolved.certain)
        if function in _PATCHERS and node.args:
            self._resolve_patch_target(node.args[0], arguments)
        self._visit_node(
            node.func, inside._replace(decorated=around.decorated) if around.decorated else inside
        )
        for index, argument in enumerate(node.args):
            checked = function in _INSTANCE_CHECKS and index == 1
            self._visit_node(argument, arguments._replace(kind=Kind.ISINSTANCE) if checked else arguments)
        for keyword in node.keywords:
            variable = self._watch.match_variable(keyword.arg)  # `os.environ.update(NAME="1")`
            if variable is not None and keyword.arg is not None:
                self._add_use(variable, keyword.arg, Kind.STRING, keyword, arguments, True)
            self._walk_children(keyword, arguments)

    def _resolve_patch_target(self, node: ast.expr, around: ExpressionSurroundings) -> None:
        """Resolve the string in `patch("torch.jit.script")` or `patch("mypkg.module.torch.jit.script")`."""
        value = string_value(node)
        if value is None:
            return
        is_whole = value.partition(".")[0] in ("torch", *COMPANION_PACKAGES)
        name = value if is_whole else "torch." + value.partition(".torch.")[2]
        symbol = self._watch.match_symbol(name)
        if symbol is not None:
            self._add_use(symbol, name, Kind.STRING, node, around, True)

    def _kind_of_use(self, node: ast.expr, around: ExpressionSurroundings) -> Kind:
        parent = around.parents[-1]
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            return Kind.ASSIGNMENT
        if isinstance(parent, ast.Call) and parent.func is node:
            return Kind.CALL
        if around.decorated is not None:
            return Kind.DECORATOR
        return around.kind or Kind.REFERENCE

    def _add_use(
        self,
        symbol: str,
        name: str,
        kind: Kind,
        node: ast.expr | ast.keyword,
        around: ExpressionSurroundings,
        certain: bool,
    ) -> None:
        parent = around.parents[-1]
        call = parent if kind is Kind.CALL and isinstance(parent, ast.Call) else None
        self.found.append(
            Use(
                symbol,
                name,
                kind,
                node,
                around.parents,
                self._place,
                certain and around.located,
                call,
                around.decorated,
                certain,
            )
        )

    def _parse_string_annotation(self, node: ast.Constant, around: ExpressionSurroundings) -> None:
        """Parse a quoted annotation, if it is written as one plain literal."""
        text = self._source.get_segment(node)
        quotes = text[: len(text) - len(text.lstrip("'\""))]
        inner = text[len(quotes) : len(text) - len(quotes)]
        if len(quotes) not in (1, 3) or inner != node.value or "\n" in inner:
            return
        try:
            expression = ast.parse(inner, mode="eval").body
        except (SyntaxError, ValueError):
            return
        for part in ast.walk(expression):
            if isinstance(part, (ast.expr, ast.keyword)):
                part.lineno = part.end_lineno = node.lineno
                part.col_offset += node.col_offset + len(quotes)
                part.end_col_offset = (part.end_col_offset or 0) + node.col_offset + len(quotes)
        self._visit_node(expression, around)


def _is_module_argument(node: ast.Constant, parent: ast.AST) -> bool:
    """Return whether a string is the module of a command's ``-m``: ``[sys.executable, "-m", "torch.distributed.launch"]``."""
    parts = parent.elts if isinstance(parent, (ast.List, ast.Tuple)) else []
    return any(string_value(option) == "-m" and module is node for option, module in pairwise(parts))


def _is_call_result(resolved: ResolvedName) -> bool:
    """Return whether a name is below what a call of torch's returns, as in ``torch.zeros().storage``: an object, and no module."""
    return all(name.startswith("torch.") and "()." in name for name in resolved.names)


def _literal_attribute(node: ast.expr) -> str | None:
    """Return the suffix that a literal attribute name adds to a qualified name."""
    name = string_value(node)
    return f".{name}" if name is not None else None
