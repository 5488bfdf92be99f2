"""Code that goes: the change that takes it away, or the reason why its author has to decide.

A comment in a part that disappears may be about that part or about the whole; a part that never runs may still bind
a name, or make a generator of its function. What lies beside the header of a statement stays with what it held.
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
    """Takes statements of one file away. Every method raises NoFix where that is for the author to decide."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._statements = Statements(source)

    def removed(self, place: Place) -> Remove:
        """Removes the statement at ``place``, and all that it holds."""
        self._let_go(place, [*blocks_of(place.statement)])
        return Remove(place.statement)

    def unwrapped(self, place: Place, block: Block) -> Unwrap:
        """Leaves ``block`` of the compound statement at ``place``."""
        self._let_go(place, [other for other in blocks_of(place.statement) if other is not block])
        return Unwrap(place.statement, block)

    def decided(self, place: Place, value: bool) -> Decide:
        """Leaves what runs where the test of the ``if`` or ``elif`` at ``place`` is ``value``."""
        node = place.statement
        assert isinstance(node, ast.If)
        self._let_go(place, [node.orelse if value else node.body])
        return Decide(node, value)

    def _let_go(self, place: Place, gone: Sequence[Block]) -> None:
        """Raises NoFix where blocks of the statement at ``place`` cannot go; those that do nothing can."""
        gone = [block for block in gone if not all(isinstance(part, ast.Pass) for part in block)]
        if comment := self._comment_in(place.statement, gone):
            raise NoFix(f"the comment `{comment}` stands in the part that would go")
        if effect := outlives(place, [statement for block in gone for statement in block]):
            raise NoFix(effect)

    def _comment_in(self, statement: ast.stmt, gone: Sequence[Block]) -> str | None:
        """The first comment in some of the blocks of a statement.

        None on the line where its header ends, and none on its last line: those stay.
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
        """Where the last line of a block ends, that of a comment behind its last statement included."""
        text = self._source.text
        start = self._statements.start(block[0])
        if isinstance(block[0], ast.If) and text.startswith(b"elif", start):
            return self._end([inner for inner in blocks_of(block[0]) if inner][-1])
        end = self._source.whole_line(self._source.span(block[-1]).end - 1).end
        indent = text[self._source.whole_line(start).start : start]
        if indent.strip():  # it stands on the line of its header
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
        """The comments in a span, but for those in another one."""
        if b"#" not in self._source.text[span.start : span.end]:
            return []
        found = (token for token in self._tokens.inside(span) if token.type == tokenize.COMMENT)
        texts = (token.text for token in found if not but.start <= token.span.start < but.end)
        return [text for text in texts if without_directives(text)]

    @cached_property
    def _tokens(self) -> Tokens:
        return Tokens(self._source)


def outlives(place: Place, gone: Block) -> str | None:
    """What the function or module at ``place`` would miss of statements that never run, as a sentence, or None.

    A name that is bound nowhere else changes its scope, and a ``yield`` or ``global`` has effect without being run.
    """
    inside = {node for statement in gone for node in ast.walk(statement)}
    for node in inside:
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal)):
            return f"`{type(node).__name__.lower()}` in the part that never runs has effect all the same"
    bindings = place.scope.bindings.items()
    bound = {name for name, found in bindings if found and all(binding.node in inside for binding in found)}
    for node in ast.walk(place.scope.node) if bound else ():
        if isinstance(node, ast.Name) and node.id in bound and node not in inside:
            return f"`{node.id}` is bound in the part that never runs only, and used elsewhere"
    return None
