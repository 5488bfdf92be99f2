"""Expressions that move to another depth of indentation."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from .line_ends import find_line_start, get_line
from .region import Region


def get_indent(line: str) -> str:
    """Return the white space that a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def get_hanging_indent(region: Region, call: cst.Call, argument: cst.Arg) -> str:
    """Return the extra indentation of an argument's line over its call's line; "" if it does not begin the line."""
    start = region.node_spans[argument].start
    around, own = get_line(region.text, region.node_spans[call].start), get_line(region.text, start)
    begins_line = not region.text[find_line_start(region.text, start) : start].strip()
    return get_indent(own).removeprefix(get_indent(around)) if begins_line else ""


def dedent_expression(node: cst.BaseExpression, hang: str) -> cst.BaseExpression:
    """Return the expression with the indentation ``hang`` removed from all lines but the first."""
    return _change_indents(node, lambda indent: indent.removeprefix(hang)) if hang else node


def hang_expression(node: cst.BaseExpression, hang: str) -> cst.BaseExpression:
    """Return the expression with its lines moved so far that a closing bracket which begins the last one is indented by ``hang``."""
    last = cst.Module([]).code_for_node(node).rpartition("\n")[2]
    indent = get_indent(last)
    if not last.lstrip().startswith((")", "]", "}")):
        return node
    if len(indent) > len(hang):
        return dedent_expression(node, indent.removeprefix(hang))
    return _change_indents(node, lambda one: one + hang.removeprefix(indent))


def _change_indents(node: cst.BaseExpression, change: Callable[[str], str]) -> cst.BaseExpression:
    def change_whitespace(space: cst.SimpleWhitespace) -> cst.SimpleWhitespace:
        return space.with_changes(value=change(space.value))

    class IndentChanger(cst.CSTTransformer):
        def leave_ParenthesizedWhitespace(  # noqa: N802
            self, original_node: cst.ParenthesizedWhitespace, updated_node: cst.ParenthesizedWhitespace
        ) -> cst.ParenthesizedWhitespace:
            lines = [
                line.with_changes(whitespace=change_whitespace(line.whitespace)) if line.comment else line
                for line in updated_node.empty_lines
            ]
            return updated_node.with_changes(
                empty_lines=lines, last_line=change_whitespace(updated_node.last_line)
            )

    result = node.visit(IndentChanger())
    assert isinstance(result, cst.BaseExpression)
    return result
