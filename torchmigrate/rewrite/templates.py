"""Templates as libcst trees, with their parts filled in."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import lru_cache

import libcst as cst

from .changes import Template
from .comments import Line
from .merging import Remarks, annotated
from .parentheses import Role, fitted, role_of
from .parts import marked, part_of

Build = Callable[[ast.expr], cst.BaseExpression]
"""Returns the libcst tree of a part for the result."""


def expression(template: Template, build: Build) -> cst.BaseExpression:
    """Return the template as an expression. Raises ValueError if it does not parse as one."""
    tree = _expression(marked(template))
    if isinstance(tree, cst.Name) and (inner := _filling(tree, template, build)) is not None:
        return inner
    filled = tree.deep_clone().visit(_Filling(template, build))
    assert isinstance(filled, cst.BaseExpression)
    return filled


def statements(
    template: Template, build: Build, unit: str, remarks: Mapping[str, Remarks] | None = None
) -> list[Line]:
    """Return the template as statements, with blocks indented by ``unit``. Raises ValueError if it does not parse.

    ``remarks`` are comments on elements of the template's list, by their placeholders.
    """
    module = annotated(_module(marked(template)).deep_clone(), remarks or {})
    module = module.visit(_Filling(template, build, unit))
    assert isinstance(module, cst.Module)
    found = [statement for statement in module.body if isinstance(statement, Line)]
    if module.header and found:
        found[0] = found[0].with_changes(
            leading_lines=[*module.header, *getattr(found[0], "leading_lines", ())]
        )
    return found


@lru_cache(maxsize=256)
def _expression(code: str) -> cst.BaseExpression:
    try:
        return cst.parse_expression(code)
    except cst.ParserSyntaxError as error:
        raise ValueError(f"no expression: {code}") from error


@lru_cache(maxsize=256)
def _module(code: str) -> cst.Module:
    try:
        return cst.parse_module(code)
    except cst.ParserSyntaxError as error:
        raise ValueError(f"no statements: {code}") from error


class _Filling(cst.CSTTransformer):
    """Fills the parts into a tree, in parentheses where necessary, and indents its blocks."""

    def __init__(self, template: Template, build: Build, unit: str = "") -> None:
        super().__init__()
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
            part = _filling(original_node, self._template, self._build)
            if part is not None:
                if id(part) in self._used:
                    part = part.deep_clone()
                self._used.add(id(part))
                role = role_of(self._around[-1], original_node) if self._around else Role.FREE
                return fitted(part, role)
        if isinstance(updated_node, cst.IndentedBlock):
            return updated_node.with_changes(indent=self._unit)
        return super().on_leave(original_node, updated_node)  # type: ignore[return-value]


def _filling(name: cst.Name, template: Template, build: Build) -> cst.BaseExpression | None:
    part = part_of(name.value, template)
    if isinstance(part, Template):
        return expression(part, build)
    return None if part is None else build(part)
