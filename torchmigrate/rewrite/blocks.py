"""Statements removed, blocks unwrapped, and branches of an `if` decided, as edits of the lines that they stand on.

What stays keeps its comments, its line breaks and the inside of its strings. Where a comment stands in the part that
goes, there are no edits but the sentence that says so: nobody but its author can tell what it was about.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Sequence
from functools import cached_property

from torchmigrate.model.findings import Edit, Span
from torchmigrate.semantics.scopes import Place
from torchmigrate.text.edits import apply
from torchmigrate.text.source import Source
from torchmigrate.text.tokens import Token, Tokens

Changes = tuple[Edit, ...]

_SEMICOLON = re.compile(rb"(?:[ \t\f]|\\(?:\r\n|\r|\n))*;(?:[ \t\f]|\\(?:\r\n|\r|\n))*")
_STRING_STARTS = {getattr(tokenize, name, -1) for name in ("FSTRING_START", "TSTRING_START")}
_STRING_ENDS = {getattr(tokenize, name, -1) for name in ("FSTRING_END", "TSTRING_END")}


class Blocks:
    """The statements of one file. Where a method returns a string, that says why there are no edits."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def removed(self, place: Place) -> Changes | str:
        """Removes a statement; one that stands alone in its block becomes ``pass``.

        A comment beside it, or beside the header of a block, stays.
        """
        span = self._span(place.statement)
        start, end = self._line_start(span.start), self._line_end(span.end)
        beside = self._beside_header(place.statement)
        if lost := [token for token in self._comments(span) if token not in beside]:
            return _loss(lost[0])
        if place.parent is not None and len(place.block) == 1:
            return (Edit(span.start, span.end, self._on_lines_of_their_own(beside, span.start) + "pass"),)
        index = place.block.index(place.statement)
        if index + 1 < len(place.block):
            following = self._span(place.block[index + 1]).start
            if self._is_semicolon(span.end, following):
                return (Edit(span.start, following, ""),)
        if index:
            before = self._span(place.block[index - 1]).end
            if self._is_semicolon(before, span.start):
                return (Edit(before, span.end, ""),)
        if kept := list(dict.fromkeys(beside + self._comments(Span(span.end, end)))):
            return (Edit(span.start, end, self._on_lines_of_their_own(kept, span.start).rstrip()),)
        return (Edit(start, self._without_doubled_gap(start, self._next_line(end)), ""),)

    def unwrapped(self, place: Place, block: Sequence[ast.stmt]) -> Changes | str:
        """Puts ``block``, one of those of the compound statement at ``place``, in the place of the whole statement."""
        if all(isinstance(statement, ast.Pass) for statement in block):
            return self.removed(place)
        whole = self._span(place.statement)
        suite = self._suite(block)
        head, tail = Span(whole.start, suite.start), Span(min(suite.end, whole.end), whole.end)
        beside = self._beside_header(place.statement) + self._comments(
            Span(self._header_end(block), suite.start)
        )
        gone = self._comments(head) + self._comments(tail)
        if lost := [token for token in gone if token not in beside]:
            return _loss(lost[0])
        kept = [token for token in gone if token in beside]
        edits = [Edit(head.start, head.end, self._on_lines_of_their_own(kept, whole.start))]
        edits += self._dedented(suite, self._indent(self._span(block[0]).start), self._indent(whole.start))
        if tail.start < tail.end:
            edits.append(Edit(tail.start, tail.end, ""))
        return self._as_one(edits, Span(whole.start, max(whole.end, suite.end)), block)

    def decided(self, place: Place, value: bool) -> Changes | str:
        """Leaves of the ``if`` or ``elif`` at ``place`` what runs where its test is ``value``."""
        node = place.statement
        assert isinstance(node, ast.If)
        whole = self._span(node)
        is_elif = self._starts_with(whole.start, b"elif")
        if value:
            return self._always(node, whole) if is_elif else self.unwrapped(place, node.body)
        if not node.orelse:
            return self._without_arm(node, whole) if is_elif else self.removed(place)
        following = self.source.span(node.orelse[0]).start
        has_elif = len(node.orelse) == 1 and self._starts_with(following, b"elif")
        if not has_elif and not is_elif:
            return self.unwrapped(place, node.orelse)
        if not has_elif:
            following = self._token_after(self.source.span(node.body[-1]).end, "else").span.start
        beside = self._beside_header(node)
        if lost := [token for token in self._comments(Span(whole.start, following)) if token not in beside]:
            return _loss(lost[0])
        kept = self._on_lines_of_their_own(beside, whole.start)
        if is_elif:
            return (Edit(whole.start, following, kept),)
        return (Edit(whole.start, following + len("elif"), kept + "if"),)

    def outlives(self, place: Place, gone: Sequence[ast.stmt]) -> str | None:
        """What the function or module at ``place`` would miss of statements that never run, or None.

        A name that is bound nowhere else changes its scope, and a ``yield`` or ``global`` has effect without being run.
        """
        inside = {node for statement in gone for node in ast.walk(statement)}
        for node in inside:
            if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal)):
                return f"`{type(node).__name__.lower()}` in the part that never runs has effect all the same"
        bindings = place.scope.bindings.items()
        bound = {
            name for name, found in bindings if found and all(binding.node in inside for binding in found)
        }
        for node in ast.walk(place.scope.node) if bound else ():
            if isinstance(node, ast.Name) and node.id in bound and node not in inside:
                return f"`{node.id}` is bound in the part that never runs only, and used elsewhere"
        return None

    def comments(self, node: ast.AST | Span) -> list[str]:
        """The comments inside a node or span."""
        span = node if isinstance(node, Span) else self.source.span(node)
        return [token.text for token in self._comments(span)]

    def _always(self, node: ast.If, whole: Span) -> Changes | str:
        """``elif`` with a test that is always true: the ``else`` of its chain."""
        test = self.source.span(node.test)
        colon = self._token_after(test.end, ":")
        tail = Span(min(self._suite(node.body).end, whole.end), whole.end)
        if lost := self._comments(Span(whole.start, colon.span.start)) + self._comments(tail):
            return _loss(lost[0])
        edits = [Edit(whole.start, colon.span.start, "else")]
        if tail.start < tail.end:
            edits.append(Edit(tail.start, tail.end, ""))
        return tuple(edits)

    def _as_one(self, edits: list[Edit], span: Span, block: Sequence[ast.stmt]) -> Changes | str:
        """The edits as one that replaces ``span``, once it is certain that ``block`` is what it leaves there."""
        text = self.source.text
        after = apply(text, edits)
        result = after[span.start : len(after) - len(text) + span.end].decode()
        indent = self._indent(span.start)
        parsed = ast.parse(f"if 1:\n{indent}{result}" if indent else f"if 1: pass\n{result}").body
        left = parsed[0].body if indent else parsed[1:]  # type: ignore[attr-defined]
        same = [ast.dump(node) for node in left] == [ast.dump(node) for node in block]
        return (
            (Edit(span.start, span.end, result),) if same else "moving the block to the left would change it"
        )

    def _without_arm(self, node: ast.If, arm: Span) -> Changes | str:
        """Without an ``elif`` that nothing follows."""
        beside = self._beside_header(node)
        end = self._line_end(arm.end)
        if lost := [token for token in self._comments(Span(arm.start, end)) if token not in beside]:
            return _loss(lost[0])
        if beside:
            return (Edit(arm.start, end, self._on_lines_of_their_own(beside, arm.start).rstrip()),)
        return (Edit(self._line_end(self._line_start(arm.start) - 1), end, ""),)

    def _beside_header(self, node: ast.stmt) -> list[Token]:
        """The comments in the header of a compound statement, and at the end of its line."""
        block = getattr(node, "body", None)
        if not isinstance(block, list):
            return []
        return self._comments(Span(self._span(node).start, self._line_end(self._header_end(block))))

    def _on_lines_of_their_own(self, comments: Sequence[Token], offset: int) -> str:
        """Comments, each on a line, and the indentation of ``offset`` for what is to follow."""
        return "".join(token.text + "\n" + self._indent(offset) for token in comments)

    def _without_doubled_gap(self, start: int, end: int) -> int:
        """Takes along blank lines after a removed one, so that as many stay as the longer of the two gaps had."""
        before = self.source.text[:start].splitlines()
        gap = next((i for i, line in enumerate(reversed(before)) if line.strip()), len(self.source.text))
        while gap and end < len(self.source.text) and not self.source.text[end : self._line_end(end)].strip():
            gap, end = gap - 1, self._next_line(end)
        return end

    def _suite(self, block: Sequence[ast.stmt]) -> Span:
        """From the first thing in a block, which may be a comment, to the end of the last line that belongs to it."""
        first, last = self._span(block[0]), self._span(block[-1])
        end = self._line_end(last.end)
        header = self._header_end(block)
        if self._line_start(header) == self._line_start(first.start):
            return Span(first.start, end)
        indent = self._indent(first.start).encode()
        while (following := self._next_line(end)) > end:  # comments that end the block
            line = self.source.text[following : self._line_end(following)]
            if not (line.startswith(indent) and line.strip().startswith(b"#")):
                break
            end = self._line_end(following)
        start = next(
            (t.span.start for t in self._comments(Span(self._line_end(header), first.start))), first.start
        )
        return Span(start, end)

    def _header_end(self, block: Sequence[ast.stmt]) -> int:
        """The end of the colon before a block."""
        start = self._span(block[0]).start
        before = (t for t in reversed(self._tokens.around(start)) if t.span.start < start)
        return next(token.span.end for token in before if token.text == ":")

    def _dedented(self, suite: Span, own: str, indent: str) -> list[Edit]:
        """Moves the lines of a suite that is indented by ``own``, but for the first, down to ``indent``."""
        removed = len(own.encode()) - len(indent.encode())
        if removed <= 0 or not own.startswith(indent):
            return []
        edits = []
        inside_strings = self._inside_strings(suite)
        line = self._next_line(self._line_end(suite.start))
        while line < suite.end:
            if self.source.text.startswith(own.encode(), line) and line not in inside_strings:
                at = line + len(indent.encode())
                edits.append(Edit(at, at + removed, ""))
            line = self._next_line(self._line_end(line))
        return edits

    def _inside_strings(self, suite: Span) -> set[int]:
        """The starts of the lines of a suite that begin inside a string literal."""
        found: set[int] = set()
        open_at: list[int] = []
        for token in self._tokens.inside(suite):
            if token.type in _STRING_STARTS:
                open_at.append(token.span.start)
            span = token.span
            if token.type in _STRING_ENDS:
                span = Span(open_at.pop(), token.span.end)
            elif token.type != tokenize.STRING:
                continue
            first, last = self.source.line_of(span.start), self.source.line_of(span.end)
            found.update(self.source.line_starts[first:last])
        return found

    @cached_property
    def _tokens(self) -> Tokens:
        return Tokens(self.source)

    def _token_after(self, offset: int, text: str) -> Token:
        """The next token of this text; in between stand brackets, line ends and comments only."""
        around = self._tokens.around(offset)
        return next(token for token in around if token.span.start >= offset and token.text == text)

    def _comments(self, span: Span) -> list[Token]:
        if b"#" not in self.source.text[span.start : span.end]:
            return []
        return [token for token in self._tokens.inside(span) if token.type == tokenize.COMMENT]

    def _span(self, node: ast.stmt) -> Span:
        """The span of a statement, its decorators included."""
        span = self.source.span(node)
        decorators = getattr(node, "decorator_list", ())
        if not decorators:
            return span
        first = self.source.span(decorators[0]).start
        return Span(self.source.text.rindex(b"@", 0, first), span.end)

    def _is_semicolon(self, start: int, end: int) -> bool:
        """Whether what lies between two statements joins them in one logical line."""
        return _SEMICOLON.fullmatch(self.source.text, start, end) is not None

    def _starts_with(self, offset: int, word: bytes) -> bool:
        return self.source.text.startswith(word, offset)

    def _line_start(self, offset: int) -> int:
        return self.source.line_starts[self.source.line_of(max(offset, 0)) - 1] if self.source.text else 0

    def _line_end(self, offset: int) -> int:
        """Where the line that holds ``offset`` ends, before its line end."""
        number = self.source.line_of(max(offset, 0))
        starts = self.source.line_starts
        end = starts[number] if number < len(starts) else len(self.source.text)
        return self._line_start(offset) + len(
            self.source.text[self._line_start(offset) : end].rstrip(b"\r\n")
        )

    def _next_line(self, offset: int) -> int:
        """Where the line after that of ``offset`` starts; the end of the text, or of the cell, if there is none."""
        return self.source.whole_line(offset).end

    def _content_start(self, offset: int) -> int:
        """Where the line that holds ``offset`` has its first character that is no space."""
        start = self._line_start(offset)
        line = self.source.text[start : self._line_end(offset)]
        return start + len(line) - len(line.lstrip(b" \t\f"))

    def _indent(self, offset: int) -> str:
        return self.source.text[self._line_start(offset) : self._content_start(offset)].decode()


def _loss(comment: Token) -> str:
    return f"the comment `{comment.text}` stands in the part that would go"
