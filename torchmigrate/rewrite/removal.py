"""Safe removal of code: the change that removes it, or the reason why its author has to decide.

A comment in removed code may be about that code or about the whole statement; code that never runs may still bind a
name, or make its function a generator. A comment on the line of a statement's header stays.
"""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Sequence
from functools import cached_property

from torchmigrate.model.findings import NoFix, Span
from torchmigrate.semantics.scopes import Place
from torchmigrate.text.directives import without_directives
from torchmigrate.text.source import Source
from torchmigrate.text.tokens import Tokens

from .changes import Decide, Remove, Unwrap
from .statements import Statements, blocks_of

Block = Sequence[ast.stmt]


class Removal:
    """Removes statements of one file. Every method raises NoFix if the author has to decide."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._statements = Statements(source)

    def removed(self, place: Place) -> Remove:
        """Return the change that removes the statement at ``place`` with its blocks."""
        self._let_go(place, [*blocks_of(place.statement)])
        return Remove(place.statement)

    def unwrapped(self, place: Place, block: Block) -> Unwrap:
        """Return the change that replaces the compound statement at ``place`` with its ``block``."""
        self._let_go(place, [other for other in blocks_of(place.statement) if other is not block])
        return Unwrap(place.statement, block)

    def decided(self, place: Place, value: bool) -> Decide:
        """Return the change that reduces the ``if`` or ``elif`` at ``place`` to what runs if its test is ``value``."""
        node = place.statement
        assert isinstance(node, ast.If)
        self._let_go(place, [node.orelse if value else node.body])
        return Decide(node, value)

    def _let_go(self, place: Place, gone: Sequence[Block]) -> None:
        """Raise NoFix if some of the blocks ``gone`` of the statement at ``place`` cannot be removed."""
        gone = [block for block in gone if not all(isinstance(part, ast.Pass) for part in block)]
        if comment := self._comment_in(place.statement, gone):
            raise NoFix(f"the comment `{comment}` is in the code that would be removed")
        if effect := outlives(place, [statement for block in gone for statement in block]):
            raise NoFix(effect)

    def _comment_in(self, statement: ast.stmt, gone: Sequence[Block]) -> str | None:
        """Return the first comment in the blocks ``gone``, or None.

        Comments on the line where the header ends and on the statement's last line stay, and are ignored.
        """
        start, last = self._statements.start(statement), self._source.span(statement).end
        behind = Span(last, self._source.whole_line(last - 1).end)
        end = self._source.whole_line(self._statements.header_end(statement) or start).end
        for block in blocks_of(statement):
            if not block:
                continue
            part = Span(end, self._end(block))
            end = max(part)
            if any(block is other for other in gone) and (found := self._comments(part, behind)):
                return found[0]
        return None

    def _end(self, block: Block) -> int:
        """Return the byte offset at which a block's last line ends, including comments after its last statement."""
        text = self._source.text
        start = self._statements.start(block[0])
        if isinstance(block[0], ast.If) and text.startswith(b"elif", start):
            return self._end([inner for inner in blocks_of(block[0]) if inner][-1])
        end = self._source.whole_line(self._source.span(block[-1]).end - 1).end
        indent = text[self._source.whole_line(start).start : start]
        if indent.strip():  # the block is on the line of its header
            return end
        following = self._source.whole_line(end)
        while end <= following.start < following.end:
            line = text[following.start : following.end]
            if line.strip() and not (line.startswith(indent) and line.lstrip().startswith(b"#")):
                break
            end = following.end
            following = self._source.whole_line(end)
        return end

    def _comments(self, span: Span, but: Span) -> list[str]:
        """Return the comments in a span that are not in the span ``but``."""
        if b"#" not in self._source.text[span.start : span.end]:
            return []
        found = (token for token in self._tokens.inside(span) if token.type == tokenize.COMMENT)
        texts = (token.text for token in found if not but.start <= token.span.start < but.end)
        return [text for text in texts if without_directives(text)]

    @cached_property
    def _tokens(self) -> Tokens:
        return Tokens(self._source)


def outlives(place: Place, gone: Block) -> str | None:
    """Return a sentence on the effect that the statements ``gone``, which never run, have at ``place``; None for none.

    A name that only they bind would change its scope, and a ``yield`` or ``global`` has an effect without being run.
    """
    inside = {node for statement in gone for node in ast.walk(statement)}
    for node in inside:
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal)):
            return f"`{type(node).__name__.lower()}` has an effect even in code that never runs"
    bindings = place.scope.bindings.items()
    bound = {name for name, found in bindings if found and all(binding.node in inside for binding in found)}
    for node in ast.walk(place.scope.node) if bound else ():
        if isinstance(node, ast.Name) and node.id in bound and node not in inside:
            return f"`{node.id}` is used elsewhere, but bound only in code that never runs"
    return None
