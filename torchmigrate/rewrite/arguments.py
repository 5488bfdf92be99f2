"""Arguments of libcst calls (and bases of classes): taken out, added, named."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import libcst as cst

from .comments import lost
from .line_ends import is_broken

_SPACE = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))


def dropped(arguments: Sequence[cst.Arg], gone: Collection[cst.Arg]) -> list[cst.Arg]:
    """The arguments without some; the last one that stays ends as the last one did."""
    kept = [argument for argument in arguments if argument not in gone]
    if kept and kept[-1] is not arguments[-1]:
        last = arguments[-1]
        kept[-1] = kept[-1].with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
    return kept


def joined(call: cst.Call) -> cst.Call:
    """A call of which one argument was left, on one line if nothing but white space breaks it.

    A comma behind the last argument says that the lines are to stay, as it does to a formatter.
    """
    if len(call.args) != 1 or not isinstance(call.whitespace_before_args, cst.ParenthesizedWhitespace):
        return call
    (only,) = call.args
    if isinstance(only.comma, cst.Comma):
        return call
    bare = only.with_changes(comma=cst.MaybeSentinel.DEFAULT, whitespace_after_arg=cst.SimpleWhitespace(""))
    on_line = call.with_changes(whitespace_before_args=cst.SimpleWhitespace(""), args=[bare])
    is_short = not is_broken(cst.Module([]).code_for_node(bare))
    return on_line if is_short and not lost(call, [on_line]) else call


def added(call: cst.Call, value: cst.BaseExpression, keyword: str | None, *, first: bool = False) -> cst.Call:
    """The call with one more argument, the last one or the first, on a line of its own where the others have theirs."""
    new = cst.Arg(value)
    if keyword is not None:
        new = new.with_changes(
            keyword=cst.Name(keyword),
            equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
        )
    if not call.args:
        return call.with_changes(args=[new])
    *others, last = call.args
    between = _between(call)
    if first:
        # A function that is exchanged as well, and the bracket behind it, are one edit, which is what tells the proof
        # that the arguments are not the same ones.
        space = call.whitespace_after_func.deep_clone()
        return call.with_changes(
            args=[new.with_changes(comma=between), *call.args], whitespace_after_func=space
        )
    ends_in_comma = isinstance(last.comma, cst.Comma)
    if ends_in_comma:
        new = new.with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)
    else:
        new = new.with_changes(whitespace_after_arg=last.whitespace_after_arg)
    last = last.with_changes(comma=between, whitespace_after_arg=cst.SimpleWhitespace(""))
    return call.with_changes(args=[*others, last, new])


def named(argument: cst.Arg, keyword: str) -> cst.Arg:
    """The argument, handed over by keyword."""
    if argument.keyword is not None:
        return argument.with_changes(keyword=argument.keyword.with_changes(value=keyword))
    equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return argument.with_changes(keyword=cst.Name(keyword), equal=equal)


def _between(call: cst.Call) -> cst.Comma:
    """The comma with the line break, if there is one, that stands between arguments of this call."""
    spaces = [a.comma.whitespace_after for a in call.args[:-1] if isinstance(a.comma, cst.Comma)]
    spaces = spaces or [call.whitespace_before_args]
    if all(isinstance(space, cst.ParenthesizedWhitespace) for space in spaces):
        return cst.Comma(
            whitespace_after=without_comments(cst.ensure_type(spaces[-1], cst.ParenthesizedWhitespace))
        )
    return _SPACE


def without_comments(space: cst.ParenthesizedWhitespace) -> cst.ParenthesizedWhitespace:
    """The line break alone."""
    first = space.first_line.with_changes(whitespace=cst.SimpleWhitespace(""), comment=None)
    return space.with_changes(first_line=first, empty_lines=[])
