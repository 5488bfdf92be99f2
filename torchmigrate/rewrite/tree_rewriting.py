"""The changes of a fix, made to the libcst tree of one region.

One walk from the inside out visits only the nodes that change and their ancestors. All others stay the same objects, by
which `torchmigrate.rewrite.tree_difference` recognizes them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

import libcst as cst

from torchmigrate.model.findings import FixChange, NoFix

from . import changes as kinds
from .comment_rescue import Line
from .expression_edits import (
    add_argument,
    drop_arguments,
    drop_indices,
    drop_operands,
    join_single_argument,
    name_argument,
    replace_suffix,
    replace_text,
)
from .import_edits import add_name
from .indentation import dedent_expression, get_hanging_indent
from .line_ends import is_multiline
from .parentheses import add_parentheses, find_role, fit_parentheses, strip_parentheses
from .region import Region
from .region_selection import index_after_docstring
from .statement_edits import add_parameters, annotate_assignment, declare_in_class, remove_decorator
from .suite_edits import SuiteEditor
from .template_trees import build_expression, build_statements

_BRACKETED = (
    *(cst.Arg, cst.BaseElement, cst.DictElement, cst.StarredDictElement, cst.SubscriptElement, cst.Param),
    *(cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp, cst.FormattedStringExpression),
)
"""Nodes in brackets, whose lines may break; except elements of bare tuples, and parameters of a lambda."""


def rewrite_module(region: Region, changes: Iterable[FixChange], *, is_alone: bool) -> cst.Module:
    """Return the region's module with the changes made. Raises NoFix.

    ``is_alone``: whether the region holds all statements of its block, which must not become empty.
    """
    surgery = _TreeRewriter(region, is_alone)
    for change in changes:
        surgery.plan_change(change)
    try:
        module = region.module.visit(surgery)
    except cst.CSTValidationError as error:
        # libcst fails on unusual white space around keywords.
        line = region.source.line_of(region.span.start)
        raise NoFix(f"libcst cannot rewrite the statement on line {line}") from error
    return cst.ensure_type(module, cst.Module)


@dataclass
class _TreeRewriter(cst.CSTTransformer):
    region: Region
    is_alone: bool
    suites: SuiteEditor = field(init=False)
    plans: dict[cst.CSTNode, list[FixChange]] = field(default_factory=dict)
    path: set[cst.CSTNode] = field(default_factory=set)
    """The nodes that change, and their ancestors."""
    done: dict[cst.CSTNode, cst.CSTNode] = field(default_factory=dict)
    """The result for each node that the walk has left."""

    def __post_init__(self) -> None:
        super().__init__()
        self.suites = SuiteEditor(self.region, self.is_alone, self.plans, self.done, self._build_part)

    def __hash__(self) -> int:
        return id(self)

    def plan_change(self, change: FixChange) -> None:
        """Register a change at the libcst node that it is about."""
        statements = change.statements if isinstance(change, kinds.Merge) else ()
        for node in [*map(self.region.find_statement, statements)] or [self._find_node(change)]:
            self.plans.setdefault(node, []).append(change)
            self.path.update(self.region.iter_ancestors(node))

    def _find_node(self, change: FixChange) -> cst.CSTNode:
        node = kinds.get_subject(change)
        if isinstance(node, ast.stmt):
            return self.region.find_statement(node)
        if isinstance(node, ast.arg):
            return self.region.find_parameter(node)
        assert isinstance(node, (ast.expr, ast.keyword))
        if isinstance(node, ast.keyword) or isinstance(change, kinds.NameArgument):
            return self.region.find_argument(node)
        return self.region.find_expression(node)

    # The walk.

    def on_visit(self, node: cst.CSTNode) -> bool:
        return node in self.path

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        if original_node not in self.path:
            return updated_node
        result: cst.CSTNode = updated_node
        for change in self.plans.get(original_node, ()):
            result = self._apply_change(change, original_node, result)
        for change in self.plans.get(original_node, ()):
            if isinstance(change, kinds.Replace):
                result = self._replace_expression(change, original_node, result)
        if isinstance(original_node, (cst.Module, cst.IndentedBlock)):
            result = self.suites.edit_block(original_node, result)  # type: ignore[arg-type]
        elif isinstance(original_node, cst.SimpleStatementSuite):
            result = self.suites.edit_joined_suite(original_node, result)  # type: ignore[arg-type]
        elif isinstance(original_node, cst.If) and isinstance(
            self.region.node_parents[original_node], cst.If
        ):
            result = self.suites.edit_arm(original_node, result) or cst.RemoveFromParent()  # type: ignore[arg-type, assignment]
        self.done[original_node] = result
        return result

    def _apply_change(self, change: FixChange, original: cst.CSTNode, node: cst.CSTNode) -> cst.CSTNode:
        """Return a node with one change made inside of it."""
        match change, node:
            case ((kinds.Rename(name=keyword) | kinds.NameArgument(keyword=keyword)), cst.Arg()):
                return name_argument(node, keyword)
            case kinds.Rename(name=name), cst.Param():
                return node.with_changes(name=node.name.with_changes(value=name))
            case kinds.DropArguments(arguments=gone), cst.Call():
                kept = drop_arguments(node.args, self._collect_arguments(gone))
                before = node.whitespace_before_args if kept else cst.SimpleWhitespace("")
                return join_single_argument(node.with_changes(args=kept, whitespace_before_args=before))
            case kinds.DropArguments(arguments=gone), cst.ClassDef():
                kept = drop_arguments([*node.bases, *node.keywords], self._collect_arguments(gone))
                return node.with_changes(
                    bases=[a for a in kept if a.keyword is None and a.star != "**"],
                    keywords=[a for a in kept if a.keyword is not None or a.star == "**"],
                )
            case kinds.AddArgument(value=value, keyword=keyword, first=first), cst.Call():
                return add_argument(
                    node,
                    build_expression(value, self._build_part, self.region.source.quote),
                    keyword,
                    first=first,
                )
            case kinds.DropOperands(operands=gone), cst.BooleanOperation():
                assert isinstance(original, cst.BooleanOperation)
                found = {self.region.find_expression(operand) for operand in gone}
                role = find_role(self.region.node_parents[original], original)
                return drop_operands(original, node, found, role)
            case kinds.DropItems(statement=around, items=gone), cst.With():
                indices = [around.items.index(item) for item in gone]
                return node.with_changes(items=drop_indices(node.items, indices))
            case kinds.Annotate(new=new), cst.Assign():
                return annotate_assignment(
                    node, build_expression(new, self._build_whole_part, self.region.source.quote)
                )
            case kinds.RemoveDecorator(decorator=decorator), cst.FunctionDef() | cst.ClassDef():
                assert isinstance(original, (cst.FunctionDef, cst.ClassDef))
                return remove_decorator(node, original, self.region.find_expression(decorator))
            case kinds.AddDecorator(new=new), cst.FunctionDef() | cst.ClassDef():
                added = cst.Decorator(build_expression(new, self._build_whole_part, self.region.source.quote))
                return node.with_changes(decorators=[added, *node.decorators])
            case kinds.AddParameters(new=new), cst.FunctionDef():
                return add_parameters(node, cst.ensure_type(self._build_statement(new), cst.FunctionDef))
            case kinds.Declare(owner=owner, new=new), cst.ClassDef():
                statement = self._build_statement(new)
                is_alike = isinstance(owner.body[index_after_docstring(owner)], ast.AnnAssign)
                return declare_in_class(node, statement, is_among_its_like=is_alike)
            case kinds.RenameFile(suffix=suffix), cst.BaseString():
                return replace_suffix(node, suffix)
            case kinds.Reword(old=old, text=text), cst.BaseString():
                return replace_text(node, old, text)
            case kinds.ExtendImport(name=name, bound=bound), cst.ImportFrom():
                return add_name(node, name, bound)
            case kinds.DropImports(statement=statement, aliases=gone), cst.Import() | cst.ImportFrom():
                if len(gone) < len(statement.names):
                    assert not isinstance(node.names, cst.ImportStar)
                    indices = [statement.names.index(alias) for alias in gone]
                    return node.with_changes(names=drop_indices(node.names, indices))
        return node

    def _build_statement(self, new: kinds.Template) -> Line:
        source, unit = self.region.source, self.region.indent_unit
        (statement,) = build_statements(new, self._build_whole_part, source.quote, unit)
        return statement

    def _collect_arguments(self, nodes: Iterable[kinds.Argument]) -> set[cst.Arg]:
        found = {self.region.find_argument(node) for node in nodes}
        return found | {done for arg in found if isinstance(done := self.done.get(arg), cst.Arg)}

    def _build_part(self, node: ast.expr) -> cst.BaseExpression:
        """Return the tree of a part: with its changes if it lies in the region, else as it is written."""
        if not self.region.contains_node(node):
            code = self.region.source.get_segment(node)
            inner = cst.parse_expression(f"({code})")
            return (
                inner if is_multiline(code) else inner.with_changes(lpar=inner.lpar[1:], rpar=inner.rpar[:-1])
            )
        found = self.region.find_expression(node)
        if found in self.path and found not in self.done:
            found.visit(self)  # the part comes after the expression that takes it
        done = self.done.get(found, found)
        assert isinstance(done, cst.BaseExpression)
        return strip_parentheses(done, find_role(self.region.node_parents[found], found))

    def _build_whole_part(self, node: ast.expr) -> cst.BaseExpression:
        """Return the tree of a part for a place outside of brackets."""
        part = self._build_part(node)
        return add_parentheses(part) if self._needs_brackets(part) else part

    def _needs_brackets(self, node: cst.BaseExpression) -> bool:
        """Return whether a line break would end the expression outside of brackets."""
        code = self.region.module.code_for_node(node)
        return is_multiline(code) and not node.lpar and not _parses_alone(code)

    def _replace_expression(
        self, change: kinds.Replace, original: cst.CSTNode, node: cst.CSTNode
    ) -> cst.CSTNode:
        assert isinstance(original, cst.BaseExpression)
        assert isinstance(node, cst.BaseExpression)
        inner = node.with_changes(lpar=[], rpar=[]) if node.lpar else node
        self.done[original] = inner
        new = build_expression(change.new, self._build_part, self.region.source.quote)
        if (
            isinstance(original, cst.Call)
            and (argument := self._find_kept_argument(original, change)) is not None
        ):
            new = dedent_expression(new, get_hanging_indent(self.region, original, argument))
        if node.lpar:
            return new if new.lpar else new.with_changes(lpar=node.lpar, rpar=node.rpar)
        parent = self.region.node_parents[original]
        new = fit_parentheses(new, find_role(parent, original))
        return add_parentheses(new) if self._needs_brackets(new) and not self._is_bracketed(original) else new

    def _find_kept_argument(self, call: cst.Call, change: kinds.Replace) -> cst.Arg | None:
        """Return the argument that replaces its whole call, if the change is of this kind."""
        match [*change.new.parts.items()]:
            case [(name, ast.expr() as part)] if (
                change.new.code == f"{{{name}}}" and self.region.contains_node(part)
            ):
                value = self.region.find_expression(part)
                return next((argument for argument in call.args if argument.value is value), None)
        return None

    def _is_bracketed(self, node: cst.CSTNode) -> bool:
        around = self.region.iter_ancestors(self.region.node_parents[node])
        for parent in around:
            if isinstance(parent, (cst.BaseStatement, cst.BaseSmallStatement)):
                return False
            if isinstance(parent, _BRACKETED) and not self._is_open(self.region.node_parents[parent]):
                return True
            if isinstance(parent, cst.BaseExpression) and parent.lpar:
                return True
        return False

    def _is_open(self, around: cst.CSTNode) -> bool:
        is_lambda = isinstance(self.region.node_parents.get(around), cst.Lambda)
        return isinstance(around, cst.Tuple) or (isinstance(around, cst.Parameters) and is_lambda)


def _parses_alone(code: str) -> bool:
    """Return whether an expression parses on these lines outside of brackets, too."""
    try:
        ast.parse(code, mode="eval")
    except SyntaxError:
        return False
    return True
