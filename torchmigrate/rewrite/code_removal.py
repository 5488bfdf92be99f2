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
from torchmigrate.semantics.scopes import StatementPlace
from torchmigrate.text.source_text import SourceText
from torchmigrate.text.source_tokens import LazyTokens
from torchmigrate.text.suppression_syntax import strip_directives

from .changes import Decide, Remove, Unwrap
from .statement_positions import StatementIndex, iter_blocks

Block = Sequence[ast.stmt]


class CodeRemoval:
    """Removes statements of one file. Every method raises NoFix if the author has to decide."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._statements = StatementIndex(source)

    def remove_statement(self, place: StatementPlace) -> Remove:
        """Return the change that removes the statement at ``place`` with its blocks."""
        self._require_removable(place, [*iter_blocks(place.statement)])
        return Remove(place.statement)

    def unwrap_statement(self, place: StatementPlace, block: Block) -> Unwrap:
        """Return the change that replaces the compound statement at ``place`` with its ``block``."""
        self._require_removable(
            place, [other for other in iter_blocks(place.statement) if other is not block]
        )
        return Unwrap(place.statement, block)

    def decide_statement(self, place: StatementPlace, value: bool) -> Decide:
        """Return the change that reduces the ``if`` or ``elif`` at ``place`` to what runs if its test is ``value``."""
        node = place.statement
        assert isinstance(node, ast.If)
        self._require_removable(place, [node.orelse if value else node.body])
        return Decide(node, value)

    def _require_removable(self, place: StatementPlace, gone: Sequence[Block]) -> None:
        """Raise NoFix if some of the blocks ``gone`` of the statement at ``place`` cannot be removed."""
        gone = [block for block in gone if not all(isinstance(part, ast.Pass) for part in block)]
        if comment := self._find_comment(place.statement, gone):
            raise NoFix(f"the comment `{comment}` is in the code that would be removed")
        if effect := describe_effect(place, [statement for block in gone for statement in block]):
            raise NoFix(effect)

    def _find_comment(self, statement: ast.stmt, gone: Sequence[Block]) -> str | None:
        """Return the first comment in the blocks ``gone``, or None.

        Comments on the line where the header ends and on the statement's last line stay, and are ignored.
        """
        start, last = self._statements.find_start(statement), self._source.span_of(statement).end
        behind = Span(last, self._source.full_line_span(last - 1).end)
        end = self._source.full_line_span(self._statements.find_header_end(statement) or start).end
        for block in iter_blocks(statement):
            if not block:
                continue
            part = Span(end, self._find_block_end(block))
            end = max(part)
            if any(block is other for other in gone) and (found := self._collect_comments(part, behind)):
                return found[0]
        return None

    def _find_block_end(self, block: Block) -> int:
        """Return the byte offset at which a block's last line ends, including comments after its last statement."""
        text = self._source.text
        start = self._statements.find_start(block[0])
        if isinstance(block[0], ast.If) and text.startswith(b"elif", start):
            return self._find_block_end([inner for inner in iter_blocks(block[0]) if inner][-1])
        end = self._source.full_line_span(self._source.span_of(block[-1]).end - 1).end
        indent = text[self._source.full_line_span(start).start : start]
        if indent.strip():  # the block is on the line of its header
            return end
        following = self._source.full_line_span(end)
        while end <= following.start < following.end:
            line = text[following.start : following.end]
            if line.strip() and not (line.startswith(indent) and line.lstrip().startswith(b"#")):
                break
            end = following.end
            following = self._source.full_line_span(end)
        return end

    def _collect_comments(self, span: Span, but: Span) -> list[str]:
        """Return the comments in a span that are not in the span ``but``."""
        if b"#" not in self._source.text[span.start : span.end]:
            return []
        found = (token for token in self._file_tokens.tokens_inside(span) if token.type == tokenize.COMMENT)
        texts = (token.text for token in found if not but.start <= token.span.start < but.end)
        return [text for text in texts if strip_directives(text)]

    @cached_property
    def _file_tokens(self) -> LazyTokens:
        return LazyTokens(self._source)


def describe_effect(place: StatementPlace, gone: Block) -> str | None:
    """Return a sentence on the effect that the statements ``gone``, which never run, have at ``place``; None if there is none.

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
