"""Templates as libcst trees, with their parts filled in."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import libcst as cst

from .changes import Template
from .comment_rescue import Line
from .merged_comments import StatementComments, insert_comments
from .parentheses import ExpressionRole, find_role, fit_parentheses
from .placeholders import find_part, render_placeholders

Build = Callable[[ast.expr], cst.BaseExpression]
"""Returns the libcst tree of a part for the result."""


def build_expression(template: Template, build: Build, quote: str) -> cst.BaseExpression:
    """Return the template as an expression, its strings in quotation marks ``quote``.

    Raises ValueError if it does not parse as one.
    """
    tree = _parse_expression(render_placeholders(template), quote)
    if isinstance(tree, cst.Name) and (inner := _build_part(tree, template, build, quote)) is not None:
        return inner
    filled = tree.deep_clone().visit(_TemplateFiller(template, build, quote))
    assert isinstance(filled, cst.BaseExpression)
    return filled


def build_statements(
    template: Template,
    build: Build,
    quote: str,
    unit: str,
    remarks: Mapping[str, StatementComments] | None = None,
) -> list[Line]:
    """Return the template as statements, with blocks indented by ``unit`` and strings in quotation marks ``quote``.

    ``remarks`` are comments on elements of the template's list, by their placeholders. Raises ValueError if the template
    does not parse.
    """
    module = insert_comments(_parse_module(render_placeholders(template), quote).deep_clone(), remarks or {})
    module = module.visit(_TemplateFiller(template, build, quote, unit))
    assert isinstance(module, cst.Module)
    found = [statement for statement in module.body if isinstance(statement, Line)]
    if module.header and found:
        found[0] = found[0].with_changes(
            leading_lines=[*module.header, *getattr(found[0], "leading_lines", ())]
        )
    return found


@lru_cache(maxsize=256)
def _parse_expression(code: str, quote: str) -> cst.BaseExpression:
    try:
        return cst.ensure_type(cst.parse_expression(code).visit(_QuoteChanger(quote)), cst.BaseExpression)  # type: ignore[type-abstract]
    except cst.ParserSyntaxError as error:
        raise ValueError(f"no expression: {code}") from error


@lru_cache(maxsize=256)
def _parse_module(code: str, quote: str) -> cst.Module:
    try:
        return cst.parse_module(code).visit(_QuoteChanger(quote))
    except cst.ParserSyntaxError as error:
        raise ValueError(f"no statements: {code}") from error


@dataclass
class _QuoteChanger(cst.CSTTransformer):
    """Gives strings the quotation marks of the file, if this takes no backslashes."""

    quote: str

    def visit_FormattedString(self, node: cst.FormattedString) -> bool:  # noqa: N802
        return False  # before Python 3.12 the strings inside need other marks than the string itself

    def leave_SimpleString(  # noqa: N802
        self, original_node: cst.SimpleString, updated_node: cst.SimpleString
    ) -> cst.SimpleString:
        text = updated_node.raw_value
        if len(updated_node.quote) != 1 or self.quote in text or "\\" in text:
            return updated_node
        return updated_node.with_changes(value=f"{updated_node.prefix}{self.quote}{text}{self.quote}")


class _TemplateFiller(cst.CSTTransformer):
    """Fills the parts into a tree, in parentheses where necessary, and indents its blocks."""

    def __init__(self, template: Template, build: Build, quote: str, unit: str = "") -> None:
        super().__init__()
        self._quote = quote
        self._unit = unit
        self._template = template
        self._build = build
        self._used: set[int] = set()
        self._around: list[cst.CSTNode] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        self._around.append(node)
        return True

    def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
        self._around.pop()
        if isinstance(original_node, cst.Name):
            part = _build_part(original_node, self._template, self._build, self._quote)
            if part is not None:
                if id(part) in self._used:
                    part = part.deep_clone()
                self._used.add(id(part))
                role = find_role(self._around[-1], original_node) if self._around else ExpressionRole.FREE
                return fit_parentheses(part, role)
        if isinstance(updated_node, cst.IndentedBlock):
            return updated_node.with_changes(indent=self._unit)
        return super().on_leave(original_node, updated_node)  # type: ignore[return-value]


def _build_part(name: cst.Name, template: Template, build: Build, quote: str) -> cst.BaseExpression | None:
    part = find_part(name.value, template)
    if isinstance(part, Template):
        return build_expression(part, build, quote)
    return None if part is None else build(part)
