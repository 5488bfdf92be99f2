"""The changes of a fix, made to the libcst tree of one region.

One walk from the inside out visits only the nodes that change and their ancestors. All others stay the same objects, by
which `torchmigrate.rewrite.difference` recognizes them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

import libcst as cst

from torchmigrate.model.findings import Change, NoFix

from . import changes as kinds
from .definitions import annotated, declared, undecorated
from .expression_edits import (
    added,
    dropped,
    joined,
    named,
    with_suffix,
    with_text,
    without_indices,
    without_operands,
)
from .import_statements import extended
from .layout import hang_of, outdented
from .line_ends import is_broken
from .parentheses import fitted, parenthesized, role_of, unneeded
from .region import Region
from .regions import first_after_docstring
from .suites import Suites
from .templates import expression, statements

_BRACKETED = (
    *(cst.Arg, cst.BaseElement, cst.DictElement, cst.StarredDictElement, cst.SubscriptElement, cst.Param),
    *(cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp, cst.FormattedStringExpression),
)
"""Nodes in brackets, whose lines may break; except elements of bare tuples, and parameters of a lambda."""


def changed(region: Region, changes: Iterable[Change], *, is_alone: bool) -> cst.Module:
    """Return the region's module with the changes made. Raises NoFix.

    ``is_alone``: whether the region holds all statements of its block, which must not become empty.
    """
    surgery = _Surgery(region, is_alone)
    for change in changes:
        surgery.plan(change)
    try:
        module = region.module.visit(surgery)
    except cst.CSTValidationError as error:
        # libcst fails on unusual white space around keywords.
        line = region.source.line_of(region.span.start)
        raise NoFix(f"libcst cannot rewrite the statement in line {line}") from error
    return cst.ensure_type(module, cst.Module)


@dataclass
class _Surgery(cst.CSTTransformer):
    region: Region
    is_alone: bool
    suites: Suites = field(init=False)
    plans: dict[cst.CSTNode, list[Change]] = field(default_factory=dict)
    path: set[cst.CSTNode] = field(default_factory=set)
    """The nodes that change, and their ancestors."""
    done: dict[cst.CSTNode, cst.CSTNode] = field(default_factory=dict)
    """The result for each node that the walk has left."""

    def __post_init__(self) -> None:
        super().__init__()
        self.suites = Suites(self.region, self.is_alone, self.plans, self.done, self._built)

    def __hash__(self) -> int:
        return id(self)

    def plan(self, change: Change) -> None:
        """Register a change at the libcst node that it is about."""
        statements = change.statements if isinstance(change, kinds.Merge) else ()
        for node in [*map(self.region.statement, statements)] or [self._node(change)]:
            self.plans.setdefault(node, []).append(change)
            self.path.update(self.region.outwards(node))

    def _node(self, change: Change) -> cst.CSTNode:
        node = kinds.subject(change)
        if isinstance(node, ast.stmt):
            return self.region.statement(node)
        if isinstance(node, ast.arg):
            return self.region.parameter(node)
        assert isinstance(node, (ast.expr, ast.keyword))
        if isinstance(node, ast.keyword) or isinstance(change, kinds.NameArgument):
            return self.region.argument(node)
        return self.region.expression(node)

    # The walk.

    def on_visit(self, node: cst.CSTNode) -> bool:
        return node in self.path

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        if original_node not in self.path:
            return updated_node
        result: cst.CSTNode = updated_node
        for change in self.plans.get(original_node, ()):
            result = self._one(change, original_node, result)
        for change in self.plans.get(original_node, ()):
            if isinstance(change, kinds.Replace):
                result = self._replaced(change, original_node, result)
        if isinstance(original_node, (cst.Module, cst.IndentedBlock)):
            result = self.suites.block(original_node, result)  # type: ignore[arg-type]
        elif isinstance(original_node, cst.SimpleStatementSuite):
            result = self.suites.joined(original_node, result)  # type: ignore[arg-type]
        elif isinstance(original_node, cst.If) and isinstance(self.region.parents[original_node], cst.If):
            result = self.suites.arm(original_node, result) or cst.RemoveFromParent()  # type: ignore[arg-type, assignment]
        self.done[original_node] = result
        return result

    def _one(self, change: Change, original: cst.CSTNode, node: cst.CSTNode) -> cst.CSTNode:
        """Return a node with one change made inside of it."""
        match change, node:
            case ((kinds.Rename(name=keyword) | kinds.NameArgument(keyword=keyword)), cst.Arg()):
                return named(node, keyword)
            case kinds.Rename(name=name), cst.Param():
                return node.with_changes(name=node.name.with_changes(value=name))
            case kinds.DropArguments(arguments=gone), cst.Call():
                kept = dropped(node.args, self._arguments(gone))
                before = node.whitespace_before_args if kept else cst.SimpleWhitespace("")
                return joined(node.with_changes(args=kept, whitespace_before_args=before))
            case kinds.DropArguments(arguments=gone), cst.ClassDef():
                kept = dropped([*node.bases, *node.keywords], self._arguments(gone))
                return node.with_changes(
                    bases=[a for a in kept if a.keyword is None and a.star != "**"],
                    keywords=[a for a in kept if a.keyword is not None or a.star == "**"],
                )
            case kinds.AddArgument(value=value, keyword=keyword, first=first), cst.Call():
                return added(node, expression(value, self._built), keyword, first=first)
            case kinds.DropOperands(operands=gone), cst.BooleanOperation():
                assert isinstance(original, cst.BooleanOperation)
                found = {self.region.expression(operand) for operand in gone}
                role = role_of(self.region.parents[original], original)
                return without_operands(original, node, found, role)
            case kinds.DropItems(statement=around, items=gone), cst.With():
                indices = [around.items.index(item) for item in gone]
                return node.with_changes(items=without_indices(node.items, indices))
            case kinds.Annotate(new=new), cst.Assign():
                return annotated(node, expression(new, self._whole))
            case kinds.RemoveDecorator(decorator=decorator), cst.FunctionDef() | cst.ClassDef():
                assert isinstance(original, (cst.FunctionDef, cst.ClassDef))
                return undecorated(node, original, self.region.expression(decorator))
            case kinds.Declare(owner=owner, new=new), cst.ClassDef():
                (statement,) = statements(new, self._whole, self.region.unit)
                is_alike = isinstance(owner.body[first_after_docstring(owner)], ast.AnnAssign)
                return declared(node, statement, is_among_its_like=is_alike)
            case kinds.RenameFile(suffix=suffix), cst.BaseString():
                return with_suffix(node, suffix)
            case kinds.Reword(old=old, text=text), cst.BaseString():
                return with_text(node, old, text)
            case kinds.ExtendImport(name=name, bound=bound), cst.ImportFrom():
                return extended(node, name, bound)
            case kinds.DropImports(statement=statement, aliases=gone), cst.Import() | cst.ImportFrom():
                if len(gone) < len(statement.names):
                    assert not isinstance(node.names, cst.ImportStar)
                    indices = [statement.names.index(alias) for alias in gone]
                    return node.with_changes(names=without_indices(node.names, indices))
        return node

    def _arguments(self, nodes: Iterable[kinds.Argument]) -> set[cst.Arg]:
        found = {self.region.argument(node) for node in nodes}
        return found | {done for arg in found if isinstance(done := self.done.get(arg), cst.Arg)}

    def _built(self, node: ast.expr) -> cst.BaseExpression:
        """Return the tree of a part: with its changes if it lies in the region, else as it is written."""
        if not self.region.holds(node):
            code = self.region.source.segment(node)
            inner = cst.parse_expression(f"({code})")
            return inner if is_broken(code) else inner.with_changes(lpar=inner.lpar[1:], rpar=inner.rpar[:-1])
        found = self.region.expression(node)
        if found in self.path and found not in self.done:
            found.visit(self)  # the part comes after the expression that takes it
        done = self.done.get(found, found)
        assert isinstance(done, cst.BaseExpression)
        return unneeded(done, role_of(self.region.parents[found], found))

    def _whole(self, node: ast.expr) -> cst.BaseExpression:
        """Return the tree of a part for a place outside of brackets."""
        part = self._built(node)
        return parenthesized(part) if self._breaks(part) else part

    def _breaks(self, node: cst.BaseExpression) -> bool:
        """Return whether a line break would end the expression outside of brackets."""
        code = self.region.module.code_for_node(node)
        return is_broken(code) and not node.lpar and not _stands_alone(code)

    def _replaced(self, change: kinds.Replace, original: cst.CSTNode, node: cst.CSTNode) -> cst.CSTNode:
        assert isinstance(original, cst.BaseExpression)
        assert isinstance(node, cst.BaseExpression)
        inner = node.with_changes(lpar=[], rpar=[]) if node.lpar else node
        self.done[original] = inner
        new = expression(change.new, self._built)
        if isinstance(original, cst.Call) and (argument := self._argument_of(original, change)) is not None:
            new = outdented(new, hang_of(self.region, original, argument))
        if node.lpar:
            return new if new.lpar else new.with_changes(lpar=node.lpar, rpar=node.rpar)
        parent = self.region.parents[original]
        new = fitted(new, role_of(parent, original))
        return parenthesized(new) if self._breaks(new) and not self._is_bracketed(original) else new

    def _argument_of(self, call: cst.Call, change: kinds.Replace) -> cst.Arg | None:
        """Return the argument that replaces its whole call, if the change is of this kind."""
        match [*change.new.parts.items()]:
            case [(name, ast.expr() as part)] if change.new.code == f"{{{name}}}" and self.region.holds(part):
                value = self.region.expression(part)
                return next((argument for argument in call.args if argument.value is value), None)
        return None

    def _is_bracketed(self, node: cst.CSTNode) -> bool:
        around = self.region.outwards(self.region.parents[node])
        for parent in around:
            if isinstance(parent, (cst.BaseStatement, cst.BaseSmallStatement)):
                return False
            if isinstance(parent, _BRACKETED) and not self._is_open(self.region.parents[parent]):
                return True
            if isinstance(parent, cst.BaseExpression) and parent.lpar:
                return True
        return False

    def _is_open(self, around: cst.CSTNode) -> bool:
        is_lambda = isinstance(self.region.parents.get(around), cst.Lambda)
        return isinstance(around, cst.Tuple) or (isinstance(around, cst.Parameters) and is_lambda)


def _stands_alone(code: str) -> bool:
    """Return whether an expression parses on these lines outside of brackets, too."""
    try:
        ast.parse(code, mode="eval")
    except SyntaxError:
        return False
    return True
