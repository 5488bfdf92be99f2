"""Lines that a change made too long, broken as a formatter breaks them: an argument a line, and a trailing comma."""

from __future__ import annotations

import libcst as cst

from torchmigrate.model.findings import Span

from .region import Region, parents_of, spans_of

_LEAST, _MOST = 88, 120
_ROUNDS = 4
_WORTHWHILE = 30
"""Characters between the parentheses of a call from which on it is broken; fewer may stand behind it."""


def broken(region: Region, module: cst.Module) -> cst.Module:
    """The module with calls that are new, and make lines longer than this file has them, on several lines."""
    limit = _limit(region)
    for _ in range(_ROUNDS):
        call = _too_long(region, module, limit)
        if call is None:
            break
        module = _with(module, *call)
    return module


def _limit(region: Region) -> int:
    """The length that lines of the file have, in characters."""
    return min(max(region.source.longest_line, _LEAST), _MOST)


def _too_long(region: Region, module: cst.Module, limit: int) -> tuple[cst.Call, str] | None:
    """The outermost new call on a line that is too long, and how far that line is indented within its block."""
    code = module.code
    if max(map(len, code.splitlines()), default=0) <= limit:
        return None
    text = code.encode()
    statement = 0
    for node, span in sorted(spans_of(module).items(), key=lambda item: (item[1].start, -item[1].end)):
        if isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
            statement = span.start
        if not isinstance(node, cst.Call) or node in region.spans or not node.args:
            continue
        line = _line(text, span.start)
        if len(line) > limit and _may_break(text, node, span):
            return node, _indent(line).removeprefix(_indent(_line(text, statement)))
    return None


def _may_break(text: bytes, call: cst.Call, span: Span) -> bool:
    """Whether the call stands on one line, and its arguments on lines of their own would be worth it."""
    code = text[span.start : span.end].decode()
    behind = text[span.end : text.find(b"\n", span.end)].split(b"#")[0]
    is_plain = "\n" not in code and not isinstance(call.args[0].value, cst.GeneratorExp)
    return is_plain and len(code.partition("(")[2]) >= _WORTHWHILE and len(behind) < _WORTHWHILE


def _line(text: bytes, offset: int) -> str:
    end = text.find(b"\n", offset)
    return text[text.rfind(b"\n", 0, offset) + 1 : end if end >= 0 else len(text)].decode()


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _exploded(call: cst.Call, margin: str) -> cst.Call:
    def line(extra: str) -> cst.ParenthesizedWhitespace:
        first = cst.TrailingWhitespace(whitespace=cst.SimpleWhitespace(""))
        return cst.ParenthesizedWhitespace(first, indent=True, last_line=cst.SimpleWhitespace(margin + extra))

    *others, last = call.args
    arguments = [argument.with_changes(comma=cst.Comma(whitespace_after=line("    "))) for argument in others]
    arguments.append(
        last.with_changes(whitespace_after_arg=line(""), comma=cst.MaybeSentinel.DEFAULT)
        if last.star
        else last.with_changes(comma=cst.Comma(whitespace_after=line("")))
    )
    return call.with_changes(args=arguments, whitespace_before_args=line("    "))


def _with(module: cst.Module, call: cst.Call, margin: str) -> cst.Module:
    """The module with one call on several lines; all else stays the very same nodes."""
    parents = parents_of(module)
    path: set[cst.CSTNode] = {module, call}
    node: cst.CSTNode = call
    while node in parents:
        node = parents[node]
        path.add(node)

    class Exploding(cst.CSTTransformer):
        def on_visit(self, node: cst.CSTNode) -> bool:
            return node in path

        def on_leave(self, original_node: cst.CSTNode, updated_node: cst.CSTNode) -> cst.CSTNode:  # type: ignore[override]
            return _exploded(call, margin) if original_node is call else updated_node

    return cst.ensure_type(module.visit(Exploding()), cst.Module)
