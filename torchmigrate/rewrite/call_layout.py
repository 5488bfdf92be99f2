"""Line breaks in calls that a change has made too long or short, placed as a formatter places them.

The arguments of a long call go on one line of their own, or on a line each, with a trailing comma.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from .comment_rescue import collect_comments
from .indentation import get_indent, hang_expression
from .line_ends import is_multiline
from .new_code import NewCode, build_line_break

_NO_COMMA = cst.MaybeSentinel.DEFAULT
_WORTHWHILE = 30
"""The fewest characters between the parentheses of a call that are worth a line break."""
_BEHIND = 60
"""A call is broken only if fewer characters follow it on its line: ``).module().to(device)``."""


def lay_out_call(code: NewCode) -> tuple[cst.Call, cst.Call] | None:
    """Return the outermost new call whose line breaks should change, and the same with others; None if there is none."""
    has_formatter = code.region.source.line_length is not None
    wraps = _find_wrapping_call(code, has_formatter=has_formatter)
    for node in _iter_changed_calls(code):
        if not node.args or (margin := code.find_margin(node)) is None:
            continue
        line = code.get_line(node)
        if node is wraps:
            return node, _put_around(node, margin)
        is_apart = _has_own_line(node)
        own_line = code.get_line(node.args[0]) if is_apart else ""
        if is_apart and has_formatter and (joined := _join_lines(node, code)) is not None:
            return node, joined
        if len(line) > code.limit and not is_apart:
            node = _find_outermost_call(node, code)
        is_long = len(own_line) > code.limit or (len(line) > code.limit and _is_worth_breaking(node, code))
        is_old = node in code.region.node_spans
        if is_long or (not is_old and _is_ragged(node, code, has_formatter=has_formatter)):
            return node, _break_lines(node, code, margin)
    return None


def _iter_changed_calls(code: NewCode) -> Iterator[cst.Call]:
    """Iterate over the new calls, and then over the old ones that are arguments where none was."""
    yield from code.iter_new(cst.Call)
    for argument in code.iter_new(cst.Arg):
        if isinstance(argument.value, cst.Call) and argument.value in code.region.node_spans:
            yield argument.value


def _break_lines(call: cst.Call, code: NewCode, margin: str) -> cst.Call:
    """Return the call with its arguments together on a line of their own if they fit, else on a line each."""
    *others, last = call.args
    is_apart = _has_own_line(call)
    inside = _render_arguments(call.args)
    fits = code.fits_below(call, inside) and not is_multiline(inside)
    if fits and not (isinstance(last.comma, cst.Comma) or is_apart):
        last = last.with_changes(whitespace_after_arg=build_line_break(margin))
        return call.with_changes(
            args=[*others, last], whitespace_before_args=build_line_break(f"{margin}    ")
        )
    first: cst.BaseParenthesizableWhitespace = build_line_break(f"{margin}    ")
    end: cst.BaseParenthesizableWhitespace = build_line_break(margin)
    if is_apart:
        first, end = call.whitespace_before_args, last.whitespace_after_arg
    if is_multiline(inside):
        hang = f"{margin}    "
        *others, last = (one.with_changes(value=hang_expression(one.value, hang)) for one in call.args)
    made = [argument.with_changes(comma=cst.Comma(whitespace_after=first)) for argument in others]
    if last.star:
        made.append(last.with_changes(whitespace_after_arg=end, comma=_NO_COMMA))
    else:
        no_space = cst.SimpleWhitespace("")
        made.append(last.with_changes(whitespace_after_arg=no_space, comma=cst.Comma(whitespace_after=end)))
    return call.with_changes(args=made, whitespace_before_args=first)


def _join_lines(call: cst.Call, code: NewCode) -> cst.Call | None:
    """Return a call whose arguments share a line on the line of its parentheses, if it fits there."""
    *others, last = call.args
    if isinstance(last.comma, cst.Comma):
        return None  # to a formatter, a comma after the last argument means that the lines stay
    no_space = cst.SimpleWhitespace("")
    length = (
        len(code.get_line(call)) + len(_render_arguments(call.args)) + 1 + len(code.get_code_behind(call))
    )
    if length > code.limit:
        return None
    return call.with_changes(
        args=[*others, last.with_changes(whitespace_after_arg=no_space)], whitespace_before_args=no_space
    )


def _put_around(call: cst.Call, margin: str) -> cst.Call:
    """Return the call with its only argument on lines of its own."""
    end = build_line_break(margin)
    (argument,) = call.args
    hang = f"{margin}    "
    indented = argument.with_changes(value=hang_expression(argument.value, hang), whitespace_after_arg=end)
    return call.with_changes(args=[indented], whitespace_before_args=build_line_break(hang))


def _find_wrapping_call(code: NewCode, *, has_formatter: bool) -> cst.Call | None:
    """Return a new call around one argument with elements on a line each, and a comma after the last, as formatters write them."""
    for node in code.iter_new(cst.Call):
        begins_line = isinstance(node.whitespace_before_args, cst.ParenthesizedWhitespace)
        is_single = len(node.args) == 1 and not begins_line
        if is_single and _has_elements_apart(node.args[0].value, has_formatter=has_formatter):
            return node
    return None


def _has_elements_apart(node: cst.BaseExpression, *, has_formatter: bool) -> bool:
    """Return whether a call, or with a formatter a list, has its elements on a line each, or wraps such a one only."""
    match node:
        case cst.Call(whitespace_before_args=space, args=[*_, cst.Arg(comma=cst.Comma())]):
            return isinstance(space, cst.ParenthesizedWhitespace)
        case cst.List(lbracket=bracket, elements=[*_, cst.Element(comma=cst.Comma())]) if has_formatter:
            return isinstance(bracket.whitespace_after, cst.ParenthesizedWhitespace)
        case cst.Call(args=[only]) if has_formatter:
            return _has_elements_apart(only.value, has_formatter=True)
        case cst.Subscript(value=inner) | cst.Call(func=cst.Attribute(value=inner), args=[]):
            return _has_elements_apart(inner, has_formatter=has_formatter)
    return False


def _find_outermost_call(call: cst.Call, code: NewCode) -> cst.Call:
    """Return the outermost call on one line that has the call among its arguments: formatters break it first."""
    while isinstance(argument := code.parents.get(call), cst.Arg) and isinstance(
        around := code.parents.get(argument), cst.Call
    ):
        if argument not in around.args or is_multiline(code.get_code(around)):
            break
        call = around
    return call


def _is_worth_breaking(call: cst.Call, code: NewCode) -> bool:
    """Return whether the call is on one line, and worth breaking."""
    behind = code.get_code_behind(call).split("#")[0]
    inside = _render_arguments(call.args)
    if isinstance(call.args[0].value, cst.GeneratorExp) and not code.fits_below(call, inside):
        return False
    is_plain = not is_multiline(code.get_code(call))
    is_short = len(behind) < _BEHIND or _ends_with_late_bracket(call, code)
    return is_plain and len(inside) >= _WORTHWHILE and is_short


def _ends_with_late_bracket(call: cst.Call, code: NewCode) -> bool:
    """Return whether the line of a call ends with brackets that open too late to break the line there, and fit below."""
    line = code.get_line(call)
    start, depth = len(line), 0
    while start and (depth or start == len(line)):
        start -= 1
        depth += (line[start] in ")]}") - (line[start] in "([{")
    fits = len(get_indent(line)) + 1 + len(code.get_code_behind(call)) <= code.limit
    return start >= code.limit and line.endswith((")", "]", "}")) and fits


def _is_ragged(call: cst.Call, code: NewCode, *, has_formatter: bool) -> bool:
    """Return whether other arguments share a line with the end of a multiline one; without a formatter, one that is too long."""
    spaces = [call.whitespace_before_args]
    spaces += [one.comma.whitespace_after for one in call.args if isinstance(one.comma, cst.Comma)]
    is_spread = any(isinstance(space, cst.ParenthesizedWhitespace) for space in spaces)
    text = code.get_code(call)
    if len(call.args) == 1 or is_spread or not is_multiline(text) or '"""' in text or "'''" in text:
        return False
    return has_formatter or max(len(code.get_line(call)), len(code.get_last_line(call))) > code.limit


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
