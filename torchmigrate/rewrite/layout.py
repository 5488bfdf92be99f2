"""Line breaks in calls that a change has made too long, placed as a formatter places them.

The arguments of such a call go on one line of their own, or on a line each, with a trailing comma.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

from torchmigrate.model.findings import Span

from .comments import comments
from .line_ends import is_broken, line_at, line_end, line_start
from .region import Region, parents_of, spans_of

_NO_COMMA = cst.MaybeSentinel.DEFAULT
_LEAST, _MOST = 88, 120
_ROUNDS = 4
_WORTHWHILE = 30
"""The fewest characters between the parentheses of a call that are worth a line break."""
_BEHIND = 60
"""A call is broken only if fewer characters follow it on its line: ``).module().to(device)``."""


def broken(region: Region, module: cst.Module) -> cst.Module:
    """Return the module with line breaks in new calls that make lines longer than the file's longest line."""
    # A change keeps to the longest line of the file, within what formatters allow.
    limit = min(max(region.source.longest_line, _LEAST), _MOST)
    for _ in range(_ROUNDS):
        found = _too_long(region, module, limit)
        if found is None:
            break
        module = _with(module, found.call, found.broken(limit))
    return module


@dataclass(frozen=True)
class _Long:
    """A call on a line that is too long."""

    call: cst.Call
    indent: str
    """The indentation of the line."""
    margin: str
    """How far the line is indented within its block."""

    def broken(self, limit: int) -> cst.Call:
        """Return the call with its arguments together on a line of their own if they fit, else on a line each."""
        arguments = self.call.args
        has_comma = isinstance(arguments[-1].comma, cst.Comma)
        is_apart = _is_on_own_line(self.call)
        if not (has_comma or is_apart) and len(self.indent) + 4 + len(_listed(arguments)) <= limit:
            last = arguments[-1].with_changes(whitespace_after_arg=self._line(""))
            return self.call.with_changes(
                args=[*arguments[:-1], last], whitespace_before_args=self._line("    ")
            )
        return self._exploded()

    def _exploded(self) -> cst.Call:
        *others, last = self.call.args
        first: cst.BaseParenthesizableWhitespace = self._line("    ")
        end: cst.BaseParenthesizableWhitespace = self._line("")
        if _is_on_own_line(self.call):
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

    def _line(self, extra: str) -> cst.ParenthesizedWhitespace:
        first = cst.TrailingWhitespace(whitespace=cst.SimpleWhitespace(""))
        indent = cst.SimpleWhitespace(self.margin + extra)
        return cst.ParenthesizedWhitespace(first, indent=True, last_line=indent)


def _too_long(region: Region, module: cst.Module, limit: int) -> _Long | None:
    """Return the outermost new call on a line that is too long, if a line break in it helps."""
    code = module.code
    if max(map(len, code.splitlines()), default=0) <= limit:
        return None
    text = code.encode()
    spans, parents = spans_of(module), parents_of(module)
    for node, span in sorted(spans.items(), key=lambda item: (item[1].start, -item[1].end)):
        if not isinstance(node, cst.Call) or node in region.spans or not node.args:
            continue
        line = line_at(text, span.start)
        own_line = line_at(text, spans[node.args[0]].start) if _is_on_own_line(node) else ""
        if len(own_line) > limit or (len(line) > limit and _may_break(text, node, span)):
            statement = _statement(node, parents)
            if statement is not None:
                around = _indent(line_at(text, spans[statement].start))
                return _Long(node, _indent(line), _indent(line).removeprefix(around))
    return None


def _statement(node: cst.CSTNode, parents: Mapping[cst.CSTNode, cst.CSTNode]) -> cst.CSTNode | None:
    """Return the statement around a node; None inside an f-string, which cannot have line breaks before Python 3.12."""
    while not isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
        if isinstance(node, cst.FormattedString):
            return None
        node = parents[node]
    return node


def _may_break(text: bytes, call: cst.Call, span: Span) -> bool:
    """Return whether the call is on one line, and worth breaking."""
    code = text[span.start : span.end].decode()
    behind = text[span.end : line_end(text, span.end)].split(b"#")[0]
    is_plain = not is_broken(code) and not isinstance(call.args[0].value, cst.GeneratorExp)
    return is_plain and len(_listed(call.args)) >= _WORTHWHILE and len(behind) < _BEHIND


def _is_on_own_line(call: cst.Call) -> bool:
    """Return whether the arguments share one line, between the lines of the parentheses."""
    ends = call.whitespace_before_args, call.args[-1].whitespace_after_arg
    return (
        all(isinstance(space, cst.ParenthesizedWhitespace) for space in ends)
        and not comments([call])
        and not is_broken(_listed(call.args[:-1]))
        and not is_broken(
            _listed([call.args[-1].with_changes(whitespace_after_arg=cst.SimpleWhitespace(""))])
        )
    )


def _listed(arguments: Sequence[cst.Arg]) -> str:
    code = cst.Module([]).code_for_node
    return ", ".join(code(argument.with_changes(comma=_NO_COMMA)) for argument in arguments)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _with(module: cst.Module, call: cst.Call, new: cst.Call) -> cst.Module:
    """Return the module with one call replaced; all nodes that do not enclose it stay the same objects."""
    parents = parents_of(module)
    path: set[cst.CSTNode] = {module, call}
    node: cst.CSTNode = call
    while node in parents:
        node = parents[node]
        path.add(node)

    class Replacing(cst.CSTTransformer):
        def on_visit(self, node: cst.CSTNode) -> bool:
            return node in path

        def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
            return new if original_node is call else updated_node

    return cst.ensure_type(module.visit(Replacing()), cst.Module)


def hang_of(region: Region, call: cst.Call, argument: cst.Arg) -> str:
    """Return the extra indentation of an argument's line over its call's line; "" if it does not begin the line."""
    start = region.spans[argument].start
    around, own = line_at(region.text, region.spans[call].start), line_at(region.text, start)
    begins_line = not region.text[line_start(region.text, start) : start].strip()
    return _indent(own).removeprefix(_indent(around)) if begins_line else ""


def outdented(node: cst.BaseExpression, hang: str) -> cst.BaseExpression:
    """Return the expression with the indentation ``hang`` removed from all lines but the first."""

    class Moving(cst.CSTTransformer):
        def leave_ParenthesizedWhitespace(  # noqa: N802
            self, original_node: cst.ParenthesizedWhitespace, updated_node: cst.ParenthesizedWhitespace
        ) -> cst.ParenthesizedWhitespace:
            def moved(space: cst.SimpleWhitespace) -> cst.SimpleWhitespace:
                return space.with_changes(value=space.value.removeprefix(hang))

            lines = [
                line.with_changes(whitespace=moved(line.whitespace)) for line in updated_node.empty_lines
            ]
            return updated_node.with_changes(empty_lines=lines, last_line=moved(updated_node.last_line))

    result = node.visit(Moving()) if hang else node
    assert isinstance(result, cst.BaseExpression)
    return result
