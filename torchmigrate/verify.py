"""The proof that edits changed what they cover and nothing else.

Three comparisons of a text before and after, each blind where another one sees:

* **Tokens.** Every token that no edit touches, comments included, is there afterwards, at its shifted place. So
  nothing was joined, swallowed by a string, or turned into a comment.
* **Tree.** Each edit opens one *hole* in the tree before: the smallest node around it. Everything that is no hole
  has the same type and fields as before, so code around an edit cannot be regrouped (``f(a + b) * c`` →
  ``a + b * c``), re-indented, or merged. A hole may become anything, but its children that the edits leave alone
  must be there afterwards, as whole nodes at their shifted places. Elements of a list (statements, arguments, …)
  may come and go only if they lie inside an edit.
* **Comments.** All survive, in order, inside edits too; only this tool's own directives may go.

What the text of an edit itself means is the rule's to answer for.
"""

from __future__ import annotations

import ast
import tokenize
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from torchmigrate.edits import apply, ordered, rendered
from torchmigrate.findings import Edit, Span
from torchmigrate.source import Source, SourceError
from torchmigrate.suppress import without_directives
from torchmigrate.tokens import Token, tokens


class VerifyError(Exception):
    """Edits changed more than they should; the place is 1-based and in the text before, or None."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


def verify(before: Source, after: Source, edits: Iterable[Edit]) -> None:
    """Raises VerifyError unless ``after`` is ``before`` with ``edits`` applied, and nothing else changed meaning."""
    edits = ordered(edits)
    if after.text != apply(before.text, edits) or (before.encoding, before.bom) != (
        after.encoding,
        after.bom,
    ):
        raise VerifyError("the file would not be read back as it was meant")
    try:
        trees = _Trees(before, after, _Shift(before.text, edits))
        _compare_tokens(before, after, trees.shift)
        trees.compare()
        _check_compiles(before, after)
    except SourceError as error:
        raise VerifyError(f"the result does not parse: {error.message}") from None
    except RecursionError:
        raise VerifyError("nested too deeply to verify") from None
    _compare_comments(before, after)


class _Shift:
    """Where offsets before and after correspond. Edits that touch each other count as one."""

    def __init__(self, text: bytes, edits: list[Edit]) -> None:
        self.old: list[Span] = []
        """What each edit replaced."""
        self.new: list[Span] = []
        """Where its text came to lie."""
        shift = 0
        for edit in edits:
            length = len(rendered(text, edit))
            start = edit.start + shift
            if self.old and self.old[-1].end == edit.start:
                self.old[-1] = Span(self.old[-1].start, edit.end)
                self.new[-1] = Span(self.new[-1].start, start + length)
            else:
                self.old.append(Span(edit.start, edit.end))
                self.new.append(Span(start, start + length))
            shift += length - (edit.end - edit.start)

    def moved(self, span: Span) -> Span:
        """Where the untouched ``span`` lies afterwards."""
        return Span(self._moved(span.start, True), self._moved(span.end, False))

    def _moved(self, offset: int, after_insertion: bool) -> int:
        result = offset
        for old, new in zip(self.old, self.new, strict=True):
            if old.end < offset or (old.end == offset and (after_insertion or old.start < old.end)):
                result = offset + new.end - old.end
        return result

    def fits(self, old: int, new: int) -> bool:
        """Whether ``new`` may be where ``old`` went: its shifted place, or anywhere in an edit that touches it."""
        for before, after in zip(self.old, self.new, strict=True):
            if before.start <= old <= before.end:
                return after.start <= new <= after.end
        return new == self._moved(old, True)


def _touches(edit: Span, span: Span) -> bool:
    """Whether ``edit`` changes the inside of ``span``; one at its edge does not."""
    return edit.start < span.end and span.start < edit.end


def _is_inside(span: Span | None, edits: list[Span]) -> bool:
    return span is not None and any(edit.start <= span.start and span.end <= edit.end for edit in edits)


# Tokens --------------------------------------------------------------------------------------------------------

_LAYOUT = {
    tokenize.NEWLINE,
    tokenize.NL,
    tokenize.INDENT,
    tokenize.DEDENT,
    # Python 3.12 gives wrong ends where a brace is doubled; the tree has these texts.
    getattr(tokenize, "FSTRING_MIDDLE", tokenize.NL),
    getattr(tokenize, "TSTRING_MIDDLE", tokenize.NL),
}


def _compare_tokens(before: Source, after: Source, shift: _Shift) -> None:
    all_old = _significant(before)
    old = [token for token in all_old if not any(_touches(edit, token.span) for edit in shift.old)]
    # What is left of a token that an edit cuts ends (or begins) where the edit's text begins (or ends).
    cut_ends = _images_that_cut(all_old, shift, lambda edit: edit.start)
    cut_starts = _images_that_cut(all_old, shift, lambda edit: edit.end)
    new = [
        token
        for token in _significant(after)
        if not any(_touches(image, token.span) for image in shift.new)
        and token.span.end not in {image.start for image in cut_ends}
        and token.span.start not in {image.end for image in cut_starts}
    ]
    for i, token in enumerate(old):
        if i >= len(new) or new[i] != token._replace(span=shift.moved(token.span)):
            raise _error(before, token.span, f"an edit changes `{token.text}` beside it")
    if len(new) > len(old):
        raise VerifyError(f"an edit makes the token `{new[len(old)].text}` of what was none")


def _significant(source: Source) -> list[Token]:
    return [token for token in tokens(source) if token.type not in _LAYOUT]


def _images_that_cut(old: list[Token], shift: _Shift, edge: Callable[[Span], int]) -> list[Span]:
    """Where the text of those edits lies whose ``edge`` is inside a token."""
    return [
        image
        for edit, image in zip(shift.old, shift.new, strict=True)
        if any(token.span.start < edge(edit) < token.span.end for token in old)
    ]


def _comments(source: Source) -> list[tuple[str, Span]]:
    return [
        (text, token.span)
        for token in tokens(source)
        if token.type == tokenize.COMMENT and (text := without_directives(token.text))
    ]


def _compare_comments(before: Source, after: Source) -> None:
    new = iter([text for text, _ in _comments(after)])
    for text, span in _comments(before):
        if text not in new:
            raise _error(before, span, f"the comment `{text}` would be lost")


def _error(source: Source, span: Span | None, message: str) -> VerifyError:
    if span is None:
        return VerifyError(message)
    location = source.location(span)
    return VerifyError(message, location.line, location.column)


# Tree ----------------------------------------------------------------------------------------------------------


def _check_compiles(before: Source, after: Source) -> None:
    """What compiled before must compile: the parser lets pass a late ``from __future__``, or a stray ``return``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _compile(before)
        except (SyntaxError, ValueError):
            return
        try:
            _compile(after)
        except (SyntaxError, ValueError) as error:
            raise VerifyError(f"the result does not compile: {error}") from None


def _compile(source: Source) -> None:
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    compile(source.text.decode(), source.path, "exec", flags=flags, dont_inherit=True)


class _Spans:
    """The spans of a tree's nodes; a node without a place has that of its children, or None."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._known: dict[ast.AST, Span | None] = {}

    def __getitem__(self, node: ast.AST) -> Span | None:
        if node not in self._known:
            try:
                self._known[node] = self._source.span(node)
            except ValueError:
                inner = [span for child in ast.iter_child_nodes(node) if (span := self[child])]
                self._known[node] = Span(min(inner).start, max(s.end for s in inner)) if inner else None
        return self._known[node]


# What holds statements, and must not change its level: it is looked for among the direct children only.
_BLOCK_PARTS = (ast.stmt, ast.excepthandler, ast.match_case)


class _Trees:
    """The trees before and after, and their comparison."""

    def __init__(self, before: Source, after: Source, shift: _Shift) -> None:
        self.before = before
        self.after = after
        self.shift = shift
        self.old = _Spans(before)
        self.new = _Spans(after)
        self._results: dict[tuple[ast.AST, ast.AST], bool] = {}
        self._first_difference: ast.AST | None = None

    def compare(self) -> None:
        """Raises VerifyError at the first node that differs and is no hole."""
        if not self._same(self.before.tree, self.after.tree):
            node = self._first_difference or self.before.tree
            kind = type(node).__name__
            raise _error(self.before, self.old[node], f"an edit changes the meaning of the {kind} around it")

    @cached_property
    def holes(self) -> set[ast.AST]:
        """The nodes before that edits may turn into others."""
        nodes = (node for node in ast.walk(self.before.tree) if not isinstance(node, ast.Module))
        spans = {node: span for node in nodes if (span := self.old[node])}
        holes: set[ast.AST] = set()
        for edit in self.shift.old:
            if edit.start < edit.end:
                around = {n: s for n, s in spans.items() if s.start <= edit.start and edit.end <= s.end}
                holes |= _smallest(around)
                cut = (n for n, s in spans.items() if _touches(edit, s) and n not in around)
                holes |= {n for n in cut if not _is_inside(spans[n], [edit])}
                continue
            beginning = _smallest({n: s for n, s in spans.items() if s.start == edit.start})
            ending = _smallest({n: s for n, s in spans.items() if s.end == edit.start})
            strictly = {n: s for n, s in spans.items() if s.start < edit.start < s.end}
            holes |= beginning | ending or _smallest(strictly)
        starts = {edit.end for edit in self.shift.old}
        ends = {edit.start for edit in self.shift.old}
        holes |= {n for n, s in spans.items() if s.start in starts and s.end in ends and s.start < s.end}
        return holes

    def _same(self, old: ast.AST, new: ast.AST) -> bool:
        key = (old, new)
        if key not in self._results:
            same = self._same_docstring(old, new) and (
                self._same_fields(old, new) or (old in self.holes and self._is_kept_in(old, new))
            )
            if not same and self._first_difference is None:
                self._first_difference = old
            self._results[key] = same
        return self._results[key]

    def _same_fields(self, old: ast.AST, new: ast.AST) -> bool:
        return type(old) is type(new) and all(
            self._same_value(getattr(old, field, None), getattr(new, field, None)) for field in old._fields
        )

    def _same_value(self, old: Any, new: Any) -> bool:
        if isinstance(old, list) and isinstance(new, list):
            return self._same_list(old, new)
        if isinstance(old, ast.AST) and isinstance(new, ast.AST):
            return self._same(old, new)
        if isinstance(old, ast.AST) and new is None:
            return _is_inside(self.old[old], self.shift.old)
        if isinstance(new, ast.AST) and old is None:
            return _is_inside(self.new[new], self.shift.new)
        return type(old) is type(new) and bool(old == new)

    def _same_list(self, old: list[Any], new: list[Any]) -> bool:
        kept_old = [item for item in old if not self._is_removed(item)]
        kept_new = [item for item in new if not self._is_added(item, kept_old)]
        return (
            len(kept_old) == len(kept_new)
            and all(map(self._same_value, kept_old, kept_new))
            and all(self._replaces_one(item, new) for item in old)
        )

    def _is_removed(self, item: Any) -> bool:
        return isinstance(item, ast.AST) and _is_inside(self.old[item], self.shift.old)

    def _is_added(self, item: Any, siblings: Sequence[Any] = ()) -> bool:
        """Whether ``item`` comes from an edit; one inside of a sibling may change that, not add to the list."""
        if not isinstance(item, ast.AST):
            return False
        for edit, image in zip(self.shift.old, self.shift.new, strict=True):
            if _is_inside(self.new[item], [image]):
                spans = [
                    span
                    for sibling in siblings
                    if isinstance(sibling, ast.AST) and (span := self.old[sibling])
                ]
                return edit.start == edit.end or not any(
                    s.start <= edit.start and edit.end <= s.end for s in spans
                )
        return False

    def _replaces_one(self, old: Any, new: list[Any]) -> bool:
        """Whether an expression that an edit replaces exactly gave way to one: ``f(x)`` must not become ``f(y, z)``."""
        if not isinstance(old, ast.expr) or self.old[old] not in self.shift.old:
            return True
        image = self.shift.new[self.shift.old.index(self.old[old])]  # type: ignore[arg-type]
        if not self.after.text[image.start : image.end].strip():
            return True
        return sum(isinstance(n, ast.AST) and _is_inside(self.new[n], [image]) for n in new) == 1

    def _same_docstring(self, old: ast.AST, new: ast.AST) -> bool:
        """A docstring stays one, and no other string becomes one, unless an edit contains it."""
        one, other = _docstring(old), _docstring(new)
        if one is not None and self._is_removed(one):
            one = None
        if other is not None and self._is_added(other):
            return one is None
        if one is None or other is None:
            return one is other
        return self._same(one, other)

    def _is_kept_in(self, old: ast.AST, new: ast.AST) -> bool:
        """Whether ``new`` holds what edits left of the hole ``old``.

        That is the whole expression if they only touch its edges, else each of its children that no edit contains.
        """
        span = self.old[old]
        if isinstance(old, ast.expr) and span and not any(_touches(edit, span) for edit in self.shift.old):
            place = self.shift.moved(span)
            inside = (node for node in _within_statement(new) if self.new[node] == place)
            return any(self._same_fields(old, node) for node in inside)
        for field, child in _children(old):
            span = self.old[child]
            if span is None or _is_inside(span, self.shift.old):
                continue
            if isinstance(child, _BLOCK_PARTS):
                same_type = type(old) is type(new)
                candidates = [new, *(node for name, node in _children(new) if name == field or not same_type)]
            else:
                candidates = list(_within_statement(new))
            if not any(self._is_there(child, span, node) and self._same(child, node) for node in candidates):
                return False
        return True

    def _is_there(self, old: ast.AST, span: Span, new: ast.AST) -> bool:
        """Whether ``new`` lies where ``old`` went; a block's end moves with what is added to it."""
        place = self.new[new]
        return (
            place is not None
            and self.shift.fits(span.start, place.start)
            and (isinstance(old, _BLOCK_PARTS) or self.shift.fits(span.end, place.end))
        )


def _smallest(spans: dict[ast.AST, Span]) -> set[ast.AST]:
    """The nodes with the shortest span."""
    length = min((span.end - span.start for span in spans.values()), default=0)
    return {node for node, span in spans.items() if span.end - span.start == length}


def _within_statement(node: ast.AST) -> Iterator[ast.AST]:
    """``node`` and what is below it, without the statements in its blocks."""
    yield node
    for _, child in _children(node):
        if not isinstance(child, _BLOCK_PARTS):
            yield from _within_statement(child)


def _children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for field, value in ast.iter_fields(node):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.AST):
                yield field, item


def _docstring(node: ast.AST) -> ast.stmt | None:
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
        first = node.body[0]
        if (
            isinstance(first, ast.Expr)
            and isinstance(first.value, ast.Constant)
            and isinstance(first.value.value, str)
        ):
            return first
    return None
