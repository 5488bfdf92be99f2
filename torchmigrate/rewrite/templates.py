"""Templates as libcst trees, with their parts in place."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from functools import lru_cache

import libcst as cst

from .changes import Symbol, Template
from .comments import Line
from .parentheses import Role, fitted, role_of

_NAME = re.compile(r"\{\{|\}\}|\{(\w+)\}")
_MARK = "__part_{}__"
_MARKED = re.compile(r"__part_(\w+)__\Z")

Build = Callable[[ast.expr], cst.BaseExpression]
"""Gives the tree of a part, as it is to be in the result."""


def expression(template: Template, build: Build) -> cst.BaseExpression:
    """The template as an expression. Raises ValueError if it is none."""
    tree = _expression(_spelled(template))
    if isinstance(tree, cst.Name) and (inner := _marked(tree, template, build)) is not None:
        return inner
    filled = tree.deep_clone().visit(_Filling(template, build))
    assert isinstance(filled, cst.BaseExpression)
    return filled


def statements(template: Template, build: Build, indent: str) -> list[Line]:
    """The template as statements, indented by ``indent`` where they have blocks. Raises ValueError if they are none."""
    module = _module(_spelled(template), indent).deep_clone().visit(_Filling(template, build))
    assert isinstance(module, cst.Module)
    found = [statement for statement in module.body if isinstance(statement, Line)]
    if module.header and found:
        found[0] = found[0].with_changes(
            leading_lines=[*module.header, *getattr(found[0], "leading_lines", ())]
        )
    return found


def _spelled(template: Template) -> str:
    """The template with a name for each part, and one for each element of a sequence."""

    def name(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        part = template.parts[match[1]]
        if isinstance(part, Symbol):
            return part.text
        if isinstance(part, ast.expr):
            return _MARK.format(match[1])
        return ", ".join(
            "*" * isinstance(element, ast.Starred) + _MARK.format(f"{match[1]}_{index}")
            for index, element in enumerate(part)
        )

    return _NAME.sub(name, template.code)


@lru_cache(maxsize=256)
def _expression(code: str) -> cst.BaseExpression:
    try:
        return cst.parse_expression(code)
    except cst.ParserSyntaxError as error:
        raise ValueError(f"no expression: {code}") from error


@lru_cache(maxsize=256)
def _module(code: str, indent: str) -> cst.Module:
    try:
        return cst.parse_module(code, cst.PartialParserConfig(default_indent=indent or "    "))
    except cst.ParserSyntaxError as error:
        raise ValueError(f"no statements: {code}") from error


class _Filling(cst.CSTTransformer):
    """Puts the parts into a tree, in parentheses where they need them."""

    def __init__(self, template: Template, build: Build) -> None:
        super().__init__()
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
            part = _marked(original_node, self._template, self._build)
            if part is not None:
                if id(part) in self._used:
                    part = part.deep_clone()
                self._used.add(id(part))
                role = role_of(self._around[-1], original_node) if self._around else Role.FREE
                return fitted(part, role)
        return super().on_leave(original_node, updated_node)  # type: ignore[return-value]


def _marked(name: cst.Name, template: Template, build: Build) -> cst.BaseExpression | None:
    match = _MARKED.match(name.value)
    if match is None:
        return None
    part = template.parts.get(match[1])
    if part is None:
        listed, _, index = match[1].rpartition("_")
        part = template.parts[listed][int(index)]  # type: ignore[index]
    assert isinstance(part, ast.expr)
    return build(part.value if isinstance(part, ast.Starred) else part)
