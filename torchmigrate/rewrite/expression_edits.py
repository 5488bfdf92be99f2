"""Changes of libcst expressions: arguments of calls, operands of ``and`` and ``or``, and texts of string literals."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TypeVar

import libcst as cst

from torchmigrate.model.findings import NoFix

from .comment_rescue import find_lost_comments
from .line_ends import is_multiline
from .parentheses import ExpressionRole, fit_parentheses, strip_parentheses

_Element = TypeVar("_Element", cst.ImportAlias, cst.WithItem)

_SPACE = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
_SUFFIX = re.compile(r"\.\w+\Z")
_Link = tuple["cst.BaseBooleanOp | None", cst.BaseExpression]
"""An operand after its operator."""


def drop_arguments(arguments: Sequence[cst.Arg], gone: Collection[cst.Arg]) -> list[cst.Arg]:
    """Return the arguments that are not in ``gone``; the last one ends as the last one did before, but keeps its comment."""
    kept = [argument for argument in arguments if argument not in gone]
    if kept and kept[-1] is not arguments[-1]:
        last, comment = arguments[-1], _get_comment_line(kept[-1].comma)
        comma = last.comma
        if comment is not None and isinstance(comma, cst.Comma):
            comma = comma.with_changes(whitespace_after=_set_first_line(comma.whitespace_after, comment))
        kept[-1] = kept[-1].with_changes(comma=comma, whitespace_after_arg=last.whitespace_after_arg)
    return kept


def _get_comment_line(comma: cst.Comma | cst.MaybeSentinel) -> cst.TrailingWhitespace | None:
    """Return the rest of the line behind a comma, if it has a comment."""
    space = comma.whitespace_after if isinstance(comma, cst.Comma) else None
    has_comment = isinstance(space, cst.ParenthesizedWhitespace) and space.first_line.comment is not None
    return space.first_line if has_comment and isinstance(space, cst.ParenthesizedWhitespace) else None


def _set_first_line(
    space: cst.BaseParenthesizableWhitespace, line: cst.TrailingWhitespace
) -> cst.BaseParenthesizableWhitespace:
    return space.with_changes(first_line=line) if isinstance(space, cst.ParenthesizedWhitespace) else space


def drop_indices(nodes: Sequence[_Element], gone: Collection[int]) -> list[_Element]:
    """Return names of an import or context managers without those at some indices; at least one stays."""
    kept = [node for index, node in enumerate(nodes) if index not in gone]
    kept[-1] = kept[-1].with_changes(comma=nodes[-1].comma)
    return kept


def join_single_argument(call: cst.Call) -> cst.Call:
    """Return a call that has one argument left, on one line if only white space and no comment breaks its lines."""
    if len(call.args) != 1 or not isinstance(call.whitespace_before_args, cst.ParenthesizedWhitespace):
        return call
    (only,) = call.args
    if isinstance(only.comma, cst.Comma):
        return call  # as to a formatter, a comma after the last argument means that the lines stay
    bare = only.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=cst.SimpleWhitespace(""))
    on_line = call.with_changes(whitespace_before_args=cst.SimpleWhitespace(""), args=[bare])
    is_short = not is_multiline(cst.Module([]).code_for_node(bare))
    return on_line if is_short and not find_lost_comments(call, [on_line]) else call


def add_argument(
    call: cst.Call, value: cst.BaseExpression, keyword: str | None, *, first: bool = False
) -> cst.Call:
    """Return the call with one more argument at the end or the beginning, on its own line if the others are."""
    new = cst.Arg(value)
    if keyword is not None:
        new = name_argument(new, keyword)
    if not call.args:
        return call.with_changes(args=[new])
    *others, last = call.args
    between = _find_comma(call)
    if first:
        # Cloned, so that the bracket is no anchor: if the function's name changes as well, both become one edit, from
        # which the proof sees that the arguments differ.
        space, before = call.whitespace_after_func.deep_clone(), call.whitespace_before_args
        if isinstance(before, cst.ParenthesizedWhitespace) and before.empty_lines:
            # Comments on lines of their own are about the argument that was the first one.
            plain = before.first_line.with_changes(whitespace=cst.SimpleWhitespace(""), comment=None)
            between = cst.Comma(whitespace_after=before.with_changes(first_line=plain))
            before = before.with_changes(empty_lines=[])
        return call.with_changes(
            args=[new.with_changes(comma=between), *call.args],
            whitespace_after_func=space,
            whitespace_before_args=before,
        )
    if isinstance(last.comma, cst.Comma):
        new = new.with_changes(comma=strip_comma(last.comma))
        between = keep_comments(between, last.comma.whitespace_after)
    else:
        new = new.with_changes(whitespace_after_arg=strip_line_break(last.whitespace_after_arg))
        between = keep_comments(between, last.whitespace_after_arg)
    last = last.with_changes(comma=between, whitespace_after_arg=cst.SimpleWhitespace(""))
    return call.with_changes(args=[*others, last, new])


def keep_comments(comma: cst.Comma, space: cst.BaseParenthesizableWhitespace) -> cst.Comma:
    """Return a comma with a line break that also has the comments of ``space``, which follow the argument before it."""
    after = comma.whitespace_after
    if not (
        isinstance(after, cst.ParenthesizedWhitespace) and isinstance(space, cst.ParenthesizedWhitespace)
    ):
        return comma
    return comma.with_changes(
        whitespace_after=after.with_changes(first_line=space.first_line, empty_lines=space.empty_lines)
    )


def strip_comma(comma: cst.Comma) -> cst.Comma:
    """Return the comma without comments and empty lines behind it."""
    return comma.with_changes(whitespace_after=strip_line_break(comma.whitespace_after))


def strip_line_break(space: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
    """Return white space without the comments and empty lines in it."""
    return strip_comments(space) if isinstance(space, cst.ParenthesizedWhitespace) else space


def name_argument(argument: cst.Arg, keyword: str) -> cst.Arg:
    """Return the argument with a keyword."""
    if argument.keyword is not None:
        return argument.with_changes(keyword=argument.keyword.with_changes(value=keyword))
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return argument.with_changes(keyword=cst.Name(keyword), equal=equal)


def _find_comma(call: cst.Call) -> cst.Comma:
    """Return the comma between arguments of this call, with its line break if there is one."""
    spaces = [a.comma.whitespace_after for a in call.args[:-1] if isinstance(a.comma, cst.Comma)]
    spaces = spaces or [call.whitespace_before_args]
    if all(isinstance(space, cst.ParenthesizedWhitespace) for space in spaces):
        return cst.Comma(
            whitespace_after=strip_comments(cst.ensure_type(spaces[-1], cst.ParenthesizedWhitespace))
        )
    return _SPACE


def strip_comments(space: cst.ParenthesizedWhitespace) -> cst.ParenthesizedWhitespace:
    """Return the line break without comments and empty lines."""
    first = space.first_line.with_changes(whitespace=cst.SimpleWhitespace(""), comment=None)
    return space.with_changes(first_line=first, empty_lines=[])


def drop_operands(
    node: cst.BooleanOperation,
    updated: cst.BooleanOperation,
    gone: Collection[cst.BaseExpression],
    role: ExpressionRole,
) -> cst.BaseExpression:
    """Return ``updated`` (``node`` with changes inside) without the operands of ``node`` that are in ``gone``.

    Each operand that stays keeps the operator before it, except for the first. A single operand that is left has
    parentheses only if the ``role`` of ``node`` requires them.
    """
    originals, chain = _flatten_operands(node), _flatten_operands(updated)
    kept = [link for original, link in zip(originals, chain, strict=True) if original[1] not in gone]
    _, result = kept[0]
    for operator, operand in kept[1:]:
        assert operator is not None
        result = cst.BooleanOperation(result, operator, operand)
    if len(kept) == 1 and not node.lpar:
        return fit_parentheses(strip_parentheses(result, ExpressionRole.LOGIC), role)
    if len(kept) > 1 or not result.lpar:
        result = result.with_changes(lpar=node.lpar, rpar=node.rpar)
    return result


def _flatten_operands(node: cst.BooleanOperation) -> list[_Link]:
    """Return the operands of ``a and b and c``, which libcst nests, each with the operator before it."""
    left: list[_Link]
    inner = node.left
    if (
        isinstance(inner, cst.BooleanOperation)
        and not inner.lpar
        and type(inner.operator) is type(node.operator)
    ):
        left = _flatten_operands(inner)
    else:
        left = [(None, inner)]
    return [*left, (node.operator, node.right)]


def replace_text(node: cst.BaseString, old: str, text: str) -> cst.BaseString:
    """Return the literal with ``old``, which its source contains once, replaced with ``text``. Raises NoFix."""
    if isinstance(node, cst.SimpleString) and node.value.count(old) == 1:
        return node.with_changes(value=node.value.replace(old, text))
    if isinstance(node, cst.ConcatenatedString):
        left = isinstance(node.left, cst.SimpleString) and old in node.left.value
        part = (
            {"left": replace_text(node.left, old, text)}
            if left
            else {"right": replace_text(node.right, old, text)}
        )
        return node.with_changes(**part)
    raise NoFix(f"the literal does not contain `{old}` exactly once")


def replace_suffix(node: cst.BaseString, suffix: str) -> cst.BaseString:
    """Return the literal, which ends with a file name, with another suffix of that file. Raises NoFix."""
    if isinstance(node, cst.SimpleString):
        text = node.raw_value
        if not _SUFFIX.search(text):
            raise NoFix(f"`{node.value}` does not end with a file suffix")
        renamed = node.prefix + node.quote + _SUFFIX.sub(suffix, text) + node.quote
        return node.with_changes(value=renamed)
    if isinstance(node, cst.FormattedString) and node.parts:
        *others, last = node.parts
        if isinstance(last, cst.FormattedStringText) and _SUFFIX.search(last.value):
            return node.with_changes(
                parts=[*others, last.with_changes(value=_SUFFIX.sub(suffix, last.value))]
            )
    elif isinstance(node, cst.ConcatenatedString):
        return node.with_changes(right=replace_suffix(node.right, suffix))
    raise NoFix("the literal does not contain the end of the file name")
