"""Line breaks in calls that a change has made too long, placed as a formatter places them.

The arguments of such a call go on one line of their own, or on a line each, with a trailing comma.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from torchmigrate.model.findings import Span

from .comment_rescue import collect_comments
from .line_ends import find_line_end, find_line_start, get_line, is_multiline
from .region import Region, collect_parents, collect_spans

_NO_COMMA = cst.MaybeSentinel.DEFAULT
_LEAST, _MOST = 88, 120
_ROUNDS = 4
_WORTHWHILE = 30
"""The fewest characters between the parentheses of a call that are worth a line break."""
_BEHIND = 60
"""A call is broken only if fewer characters follow it on its line: ``).module().to(device)``."""


def break_long_lines(region: Region, module: cst.Module) -> cst.Module:
    """Return the module with line breaks in new calls that make lines longer than the file's longest line."""
    if region.is_part:
        return module
    # Without a formatter's setting, a change keeps to the longest line of the file, within what formatters allow.
    limit = region.source.line_length or min(max(region.source.longest_line, _LEAST), _MOST)
    for _ in range(_ROUNDS):
        found = _find_long_call(region, module, limit)
        if found is None:
            break
        module = _replace_call(module, found.call, found.break_lines(limit))
    return module


@dataclass(frozen=True)
class _LongCall:
    """A call on a line that is too long."""

    call: cst.Call
    indent: str
    """The indentation of the line."""
    margin: str
    """How far the line is indented within its block."""
    wrapped: cst.Call | None = None
    """The only argument, if it is a call whose arguments are on a line each."""

    def break_lines(self, limit: int) -> cst.Call:
        """Return the call with its arguments together on a line of their own if they fit, else on a line each."""
        arguments = self.call.args
        if self.call.args[0].value is self.wrapped:
            return self._put_around(arguments[0])
        has_comma = isinstance(arguments[-1].comma, cst.Comma)
        is_apart = _has_own_line(self.call)
        if not (has_comma or is_apart) and len(self.indent) + 4 + len(_render_arguments(arguments)) <= limit:
            last = arguments[-1].with_changes(whitespace_after_arg=self._build_line_break(""))
            return self.call.with_changes(
                args=[*arguments[:-1], last], whitespace_before_args=self._build_line_break("    ")
            )
        return self._put_on_lines_each()

    def _put_around(self, argument: cst.Arg) -> cst.Call:
        """Return the call with its only argument on lines of its own."""
        end = self._build_line_break("")
        indented = argument.with_changes(value=indent_expression(argument.value), whitespace_after_arg=end)
        return self.call.with_changes(args=[indented], whitespace_before_args=self._build_line_break("    "))

    def _put_on_lines_each(self) -> cst.Call:
        *others, last = self.call.args
        first: cst.BaseParenthesizableWhitespace = self._build_line_break("    ")
        end: cst.BaseParenthesizableWhitespace = self._build_line_break("")
        if _has_own_line(self.call):
            first, end = self.call.whitespace_before_args, last.whitespace_after_arg
        made = [argument.with_changes(comma=cst.Comma(whitespace_after=first)) for argument in others]
        if last.star:
            made.append(last.with_changes(whitespace_after_arg=end, comma=_NO_COMMA))
        else:
            no_space = cst.SimpleWhitespace("")
            made.append(
                last.with_changes(whitespace_after_arg=no_space, comma=cst.Comma(whitespace_after=end))
            )
        return self.call.with_changes(args=made, whitespace_before_args=first)

    def _build_line_break(self, extra: str) -> cst.ParenthesizedWhitespace:
        first = cst.TrailingWhitespace(whitespace=cst.SimpleWhitespace(""))
        indent = cst.SimpleWhitespace(self.margin + extra)
        return cst.ParenthesizedWhitespace(first, indent=True, last_line=indent)


def _find_long_call(region: Region, module: cst.Module, limit: int) -> _LongCall | None:
    """Return the outermost new call on a line that is too long, if a line break in it helps."""
    code = module.code
    text = code.encode()
    wraps = _find_wrapping_call(region, module)
    if wraps is None and max(map(len, code.splitlines()), default=0) <= limit:
        return None
    spans, parents = collect_spans(module), collect_parents(module)
    for node, span in sorted(spans.items(), key=lambda item: (item[1].start, -item[1].end)):
        if not isinstance(node, cst.Call) or node in region.node_spans or not node.args:
            continue
        line = get_line(text, span.start)
        if node is wraps:
            around = _get_indent(get_line(text, spans[_find_statement(node, parents) or node].start))
            wrapped = cst.ensure_type(node.args[0].value, cst.Call)
            return _LongCall(node, _get_indent(line), _get_indent(line).removeprefix(around), wrapped)
        own_line = get_line(text, spans[node.args[0]].start) if _has_own_line(node) else ""
        if len(line) > limit and not own_line:
            node = _find_outermost_call(node, parents, spans, text)
        if len(own_line) > limit or (len(line) > limit and _is_worth_breaking(text, node, spans[node])):
            statement = _find_statement(node, parents)
            if statement is not None:
                around = _get_indent(get_line(text, spans[statement].start))
                return _LongCall(node, _get_indent(line), _get_indent(line).removeprefix(around))
    return None


def _find_wrapping_call(region: Region, module: cst.Module) -> cst.Call | None:
    """Return a new call around one that had its arguments on a line each, with a comma after the last, as formatters write them."""
    for node in collect_spans(module):
        if isinstance(node, cst.Call) and node not in region.node_spans and len(node.args) == 1:
            inner = node.args[0].value
            if (
                not isinstance(node.whitespace_before_args, cst.ParenthesizedWhitespace)
                and isinstance(inner, cst.Call)
                and inner.args
                and isinstance(inner.args[-1].comma, cst.Comma)
                and isinstance(inner.whitespace_before_args, cst.ParenthesizedWhitespace)
            ):
                return node
    return None


def _find_outermost_call(
    call: cst.Call, parents: Mapping[cst.CSTNode, cst.CSTNode], spans: Mapping[cst.CSTNode, Span], text: bytes
) -> cst.Call:
    """Return the outermost call on one line that has the call among its arguments: formatters break it first."""
    while isinstance(argument := parents.get(call), cst.Arg) and isinstance(
        around := parents.get(argument), cst.Call
    ):
        span = spans[around]
        if argument not in around.args or is_multiline(text[span.start : span.end].decode()):
            break
        call = around
    return call


def _find_statement(node: cst.CSTNode, parents: Mapping[cst.CSTNode, cst.CSTNode]) -> cst.CSTNode | None:
    """Return the statement around a node; None inside an f-string, which cannot have line breaks before Python 3.12."""
    while not isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
        if isinstance(node, cst.FormattedString):
            return None
        node = parents[node]
    return node


def _is_worth_breaking(text: bytes, call: cst.Call, span: Span) -> bool:
    """Return whether the call is on one line, and worth breaking."""
    code = text[span.start : span.end].decode()
    behind = text[span.end : find_line_end(text, span.end)].split(b"#")[0]
    is_plain = not is_multiline(code) and not isinstance(call.args[0].value, cst.GeneratorExp)
    return is_plain and len(_render_arguments(call.args)) >= _WORTHWHILE and len(behind) < _BEHIND


def _has_own_line(call: cst.Call) -> bool:
    """Return whether the arguments share one line, between the lines of the parentheses."""
    ends = call.whitespace_before_args, call.args[-1].whitespace_after_arg
    return (
        all(isinstance(space, cst.ParenthesizedWhitespace) for space in ends)
        and not collect_comments([call])
        and not is_multiline(_render_arguments(call.args[:-1]))
        and not is_multiline(
            _render_arguments([call.args[-1].with_changes(whitespace_after_arg=cst.SimpleWhitespace(""))])
        )
    )


def _render_arguments(arguments: Sequence[cst.Arg]) -> str:
    code = cst.Module([]).code_for_node
    return ", ".join(code(argument.with_changes(comma=_NO_COMMA)) for argument in arguments)


def _get_indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _replace_call(module: cst.Module, call: cst.Call, new: cst.Call) -> cst.Module:
    """Return the module with one call replaced; all nodes that do not enclose it stay the same objects."""
    parents = collect_parents(module)
    path: set[cst.CSTNode] = {module, call}
    node: cst.CSTNode = call
    while node in parents:
        node = parents[node]
        path.add(node)

    class CallReplacer(cst.CSTTransformer):
        def on_visit(self, node: cst.CSTNode) -> bool:
            return node in path

        def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
            return new if original_node is call else updated_node

    return cst.ensure_type(module.visit(CallReplacer()), cst.Module)


def get_hanging_indent(region: Region, call: cst.Call, argument: cst.Arg) -> str:
    """Return the extra indentation of an argument's line over its call's line; "" if it does not begin the line."""
    start = region.node_spans[argument].start
    around, own = get_line(region.text, region.node_spans[call].start), get_line(region.text, start)
    begins_line = not region.text[find_line_start(region.text, start) : start].strip()
    return _get_indent(own).removeprefix(_get_indent(around)) if begins_line else ""


def indent_expression(node: cst.BaseExpression) -> cst.BaseExpression:
    """Return the expression with all lines but the first indented by one level more."""

    class Indenter(cst.CSTTransformer):
        def leave_ParenthesizedWhitespace(  # noqa: N802
            self, original_node: cst.ParenthesizedWhitespace, updated_node: cst.ParenthesizedWhitespace
        ) -> cst.ParenthesizedWhitespace:
            def indent_whitespace(space: cst.SimpleWhitespace) -> cst.SimpleWhitespace:
                return space.with_changes(value=f"{space.value}    ")

            lines = [
                line.with_changes(whitespace=indent_whitespace(line.whitespace)) if line.comment else line
                for line in updated_node.empty_lines
            ]
            return updated_node.with_changes(
                empty_lines=lines, last_line=indent_whitespace(updated_node.last_line)
            )

    result = node.visit(Indenter())
    assert isinstance(result, cst.BaseExpression)
    return result


def dedent_expression(node: cst.BaseExpression, hang: str) -> cst.BaseExpression:
    """Return the expression with the indentation ``hang`` removed from all lines but the first."""

    class Dedenter(cst.CSTTransformer):
        def leave_ParenthesizedWhitespace(  # noqa: N802
            self, original_node: cst.ParenthesizedWhitespace, updated_node: cst.ParenthesizedWhitespace
        ) -> cst.ParenthesizedWhitespace:
            def dedent_whitespace(space: cst.SimpleWhitespace) -> cst.SimpleWhitespace:
                return space.with_changes(value=space.value.removeprefix(hang))

            lines = [
                line.with_changes(whitespace=dedent_whitespace(line.whitespace))
                for line in updated_node.empty_lines
            ]
            return updated_node.with_changes(
                empty_lines=lines, last_line=dedent_whitespace(updated_node.last_line)
            )

    result = node.visit(Dedenter()) if hang else node
    assert isinstance(result, cst.BaseExpression)
    return result
