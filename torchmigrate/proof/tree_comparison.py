"""The comparison of the `ast` trees before and after edits; see `torchmigrate.proof.edit_verification`."""

from __future__ import annotations

import ast
import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from torchmigrate.model.findings import Span
from torchmigrate.proof.offset_map import OffsetMap, is_touching
from torchmigrate.text.source_text import SourceText


class _NodeSpans:
    """The spans of a tree's nodes; a node without a position has the span of its children, or None."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._known: dict[ast.AST, Span | None] = {}

    def __getitem__(self, node: ast.AST) -> Span | None:
        if node not in self._known:
            try:
                self._known[node] = self._source.span_of(node)
            except ValueError:
                inner = [span for child in ast.iter_child_nodes(node) if (span := self[child])]
                self._known[node] = Span(min(inner).start, max(s.end for s in inner)) if inner else None
        return self._known[node]


# These nodes must not change their nesting level, so they are searched among the direct children only.
_BLOCK_PARTS = (ast.stmt, ast.excepthandler, ast.match_case)
_PRIMARIES = (ast.Attribute, ast.Call, ast.Subscript)


class TreeComparison:
    """The comparison of the trees before and after edits."""

    def __init__(self, before: SourceText, after: SourceText, shift: OffsetMap) -> None:
        self.before = before
        self.after = after
        self.shift = shift
        self.old = _NodeSpans(before)
        self.new = _NodeSpans(after)
        self._results: dict[tuple[ast.AST, ast.AST], bool] = {}
        self._first_difference: ast.AST | None = None
        self._numbers: dict[Span | None, int] = {}
        for number, span in enumerate(shift.old):
            self._numbers.setdefault(span, number)

    def find_difference(self) -> ast.AST | None:
        """Return the first node of the old tree that differs and is not one of the `edit_holes`, or None."""
        if self._is_same(self.before.syntax_tree, self.after.syntax_tree):
            return None
        return self._first_difference or self.before.syntax_tree

    @cached_property
    def edit_holes(self) -> set[ast.AST]:
        """The nodes of the old tree that edits may turn into other nodes."""
        nodes = (node for node in ast.walk(self.before.syntax_tree) if not isinstance(node, ast.Module))
        every = {node: span for node in nodes if (span := self.old[node])}
        holes: set[ast.AST] = set()
        for edit, spans in _iter_nodes_at_edits(self.shift.old, every):
            if edit.start < edit.end:
                around = {n: s for n, s in spans.items() if s.start <= edit.start and edit.end <= s.end}
                holes |= _find_smallest(around)
                cut = (n for n, s in spans.items() if is_touching(edit, s) and n not in around)
                holes |= {n for n in cut if not is_inside(spans[n], edit)}
                continue
            starting = {n: s for n, s in spans.items() if s.start == edit.start}
            # `f(x)` may become `y if z else f(x)`; around `f(x) + 1`, the edit needs parentheses.
            beginning = _find_smallest(starting) | {n for n in starting if isinstance(n, _PRIMARIES)}
            ending = _find_smallest({n: s for n, s in spans.items() if s.end == edit.start})
            strictly = {n: s for n, s in spans.items() if s.start < edit.start < s.end}
            holes |= beginning | ending or _find_smallest(strictly)
        starts = {edit.end for edit in self.shift.old}
        ends = {edit.start for edit in self.shift.old}
        holes |= {n for n, s in every.items() if s.start in starts and s.end in ends and s.start < s.end}
        return holes

    def _is_same(self, old: ast.AST, new: ast.AST) -> bool:
        key = (old, new)
        if key not in self._results:
            same = self._has_same_docstring(old, new) and (
                self._has_same_fields(old, new) or (old in self.edit_holes and self._is_kept_in(old, new))
            )
            if not same and self._first_difference is None:
                self._first_difference = old
            self._results[key] = same
        return self._results[key]

    def _has_same_fields(self, old: ast.AST, new: ast.AST) -> bool:
        if isinstance(new, ast.Call) and (
            named := [word for word in new.keywords if self._is_named_by_edit(word)]
        ):
            others = [word for word in new.keywords if word not in named]
            new = ast.Call(new.func, [*new.args, *(word.value for word in named)], others)
        return type(old) is type(new) and all(
            self._is_same_value(getattr(old, field, None), getattr(new, field, None)) for field in old._fields
        )

    def _is_named_by_edit(self, keyword: ast.keyword) -> bool:
        """Return whether an edit only put a name before an argument: ``f(x)`` → ``f(a=x)``."""
        whole, value = self.new[keyword], self.new[keyword.value]
        if keyword.arg is None or whole is None or value is None:
            return False
        number = self.shift.find_covering_edit(Span(whole.start, value.start))
        if number is None or self.shift.find_covering_edit(whole) is not None:
            return False
        edit = self.shift.old[number]
        return edit.start == edit.end

    def _is_same_value(self, old: Any, new: Any) -> bool:
        if isinstance(old, list) and isinstance(new, list):
            return self._is_same_list(old, new)
        if isinstance(old, ast.AST) and isinstance(new, ast.AST):
            return self._is_same(old, new)
        if isinstance(old, ast.AST) and new is None:
            return self.shift.is_covered(self.old[old])
        if isinstance(new, ast.AST) and old is None:
            return self.shift.find_covering_edit(self.new[new]) is not None
        return type(old) is type(new) and bool(old == new)

    def _is_same_list(self, old: list[Any], new: list[Any]) -> bool:
        kept_old = [item for item in old if not self._is_removed(item)]
        spans = [span for item in kept_old if isinstance(item, ast.AST) and (span := self.old[item])]
        siblings = sorted(spans)
        kept_new = [item for item in new if not self._is_added(item, siblings)]
        return (
            len(kept_old) == len(kept_new)
            and all(map(self._is_same_value, kept_old, kept_new))
            and all(self._is_replaced_by_one(item, new) for item in old)
        )

    def _is_removed(self, item: Any) -> bool:
        return isinstance(item, ast.AST) and self.shift.is_covered(self.old[item])

    def _is_added(self, item: Any, siblings: Sequence[Span] = ()) -> bool:
        """Return whether ``item`` comes from an edit; an edit inside a sibling may change the sibling, but add no item."""
        if not isinstance(item, ast.AST):
            return False
        number = self.shift.find_covering_edit(self.new[item])
        if number is None:
            return False
        edit = self.shift.old[number]
        around = siblings[: bisect_right(siblings, (edit.start, sys.maxsize))][-1:]
        return edit.start == edit.end or not any(edit.end <= sibling.end for sibling in around)

    def _is_replaced_by_one(self, old: Any, new: list[Any]) -> bool:
        """Return whether an exactly replaced expression became just one: ``f(x)`` must not become ``f(y, z)``."""
        number = self._numbers.get(self.old[old]) if isinstance(old, ast.expr) else None
        if number is None:
            return True
        image = self.shift.new[number]
        if not self.after.text[image.start : image.end].strip():
            return True
        return sum(isinstance(n, ast.AST) and is_inside(self.new[n], image) for n in new) == 1

    def _has_same_docstring(self, old: ast.AST, new: ast.AST) -> bool:
        """Return whether a docstring stays one, and no other string becomes one, unless an edit contains it."""
        one, other = _get_docstring(old), _get_docstring(new)
        if one is not None and self._is_removed(one):
            one = None
        if other is not None and self._is_added(other):
            return one is None
        if one is None or other is None:
            return one is other
        return self._is_same(one, other)

    def _is_kept_in(self, old: ast.AST, new: ast.AST) -> bool:
        """Return whether ``new`` contains the parts of ``old``, one of the `edit_holes`, that no edit touches.

        That is the whole expression if the edits only touch its edges, else each child that no edit covers.
        """
        span = self.old[old]
        if isinstance(old, ast.expr) and span and not self.shift.is_edited(span):
            place = self.shift.map_span(span)
            inside = (node for node in _iter_within_statement(new) if self.new[node] == place)
            return any(self._has_same_fields(old, node) for node in inside)
        for field, child in _iter_children(old):
            span = self.old[child]
            if span is None or self.shift.is_covered(span):
                continue
            if isinstance(child, _BLOCK_PARTS):
                same_type = type(old) is type(new)
                candidates = [
                    new,
                    *(node for name, node in _iter_children(new) if name == field or not same_type),
                ]
            else:
                candidates = list(_iter_within_statement(new))
            if not any(
                self._is_at_shifted_place(child, span, node) and self._is_same(child, node)
                for node in candidates
            ):
                return False
        return True

    def _is_at_shifted_place(self, old: ast.AST, span: Span, new: ast.AST) -> bool:
        """Return whether ``new`` is at the shifted place of ``old``; the end of a block may move."""
        place = self.new[new]
        return (
            place is not None
            and self.shift.is_possible_offset(span.start, place.start)
            and (
                isinstance(old, _BLOCK_PARTS)
                or self.shift.is_possible_end(span.end, place.end, self.after.text)
            )
        )


def is_inside(span: Span | None, edit: Span) -> bool:
    """Return whether ``edit`` covers all of ``span``."""
    return span is not None and edit.start <= span.start and span.end <= edit.end


def _iter_nodes_at_edits(
    edits: list[Span], spans: dict[ast.AST, Span]
) -> Iterator[tuple[Span, dict[ast.AST, Span]]]:
    """Yield each of the ordered ``edits`` with the nodes that it touches, also at their edges."""
    coming = sorted(spans.items(), key=lambda item: item[1].start)
    near: dict[ast.AST, Span] = {}
    at = 0
    for edit in edits:
        near = {node: span for node, span in near.items() if span.end >= edit.start}
        while at < len(coming) and coming[at][1].start <= edit.end:
            if coming[at][1].end >= edit.start:
                near[coming[at][0]] = coming[at][1]
            at += 1
        yield edit, near


def _find_smallest(spans: dict[ast.AST, Span]) -> set[ast.AST]:
    """Return the nodes with the shortest span."""
    length = min((span.end - span.start for span in spans.values()), default=0)
    return {node for node, span in spans.items() if span.end - span.start == length}


def _iter_within_statement(node: ast.AST) -> Iterator[ast.AST]:
    """Yield ``node`` and its descendants, without the statements in its blocks."""
    yield node
    for _, child in _iter_children(node):
        if not isinstance(child, _BLOCK_PARTS):
            yield from _iter_within_statement(child)


def _iter_children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    for field, value in ast.iter_fields(node):
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, ast.AST):
                yield field, item


def _get_docstring(node: ast.AST) -> ast.stmt | None:
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    if isinstance(node, owners) and ast.get_docstring(node, clean=False) is not None:
        return node.body[0]
    return None
