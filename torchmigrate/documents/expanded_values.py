"""Values that are made of variables: their text, and where each part of it is written."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from torchmigrate.model.findings import Edit, Span

MAX_ALTERNATIVES = 12
"""The largest number of values of one text; a text with more is a build matrix, which is treated as undecided."""

VariableLookup = Callable[[str], list[Span]]
"""A function from the name of a variable to the places where its values are written."""


@dataclass(frozen=True, slots=True)
class ValuePiece:
    """One part of a value. ``written`` is the source text at ``span``, ``text`` what an expansion makes of it."""

    text: str
    span: Span
    written: str


@dataclass(frozen=True)
class ExpandedValue:
    """A text and the pieces that it consists of."""

    pieces: tuple[ValuePiece, ...]

    @classmethod
    def from_literal(cls, view: str, span: Span) -> ExpandedValue:
        """Create the value that is written literally at ``span``."""
        text = view[span.start : span.end]
        return cls((ValuePiece(text, span, text),))

    @cached_property
    def text(self) -> str:
        """The whole text."""
        return "".join(piece.text for piece in self.pieces)

    def create_edit(
        self, start: int, end: int, new: str, versions: Mapping[str, str] | None = None
    ) -> Edit | None:
        """Return the edit that makes ``text[start:end]`` read ``new``; None if it is made of several pieces.

        Where an expansion removes the dots of a version (``${CUDA//./}``), the version itself is edited:
        ``versions`` maps ``13.0`` to the full version for places where three numbers are written.
        """
        old = self.text[start:end]
        while old and new and old[0] == new[0]:
            old, new, start = old[1:], new[1:], start + 1
        found = self._find_piece(start, end) if old or new else None
        if found is None:
            return None
        piece, offset = found
        if piece.text == piece.written:
            at = piece.span.start - offset
            return Edit(at + start, at + end, new)
        return _create_expanded_edit(piece, start - offset, end - offset, new, versions or {})

    def find_span(self, start: int, end: int) -> Span | None:
        """Return where ``text[start:end]`` is written; None if it is made of several pieces."""
        if (found := self._find_piece(start, end)) is None:
            return None
        piece, offset = found
        if piece.text != piece.written:
            return piece.span
        at = piece.span.start - offset
        return Span(at + start, at + end)

    def _find_piece(self, start: int, end: int) -> tuple[ValuePiece, int] | None:
        """Return the piece that holds all of ``text[start:end]``, with the offset in the text at which it begins."""
        offset = 0
        for piece in self.pieces:
            if offset <= start and end <= offset + len(piece.text):
                return piece, offset
            offset += len(piece.text)
        return None


def _create_expanded_edit(
    piece: ValuePiece, start: int, end: int, new: str, versions: Mapping[str, str]
) -> Edit | None:
    """Return the edit of a version whose dots an expansion removes; None if no single version gives ``new``."""
    digits = piece.text[:start] + new + piece.text[end:]
    if not re.fullmatch(r"\d{3}", digits) and not re.fullmatch(r"\d+\.\d+", digits):
        return None
    dotted: str | None = digits if "." in digits else f"{digits[:2]}.{digits[2:]}"
    if piece.written.count(".") == 2:
        dotted = versions.get(dotted or "")
    elif piece.written.count(".") != 1:
        return None
    return Edit(piece.span.start, piece.span.end, dotted) if dotted is not None else None


_VARIABLE = re.compile(
    r"""
    \$\{\{\s*(?P<github>[^{}]+?)\s*\}\}
    | \$\(\s*echo\s+(?P<pipe>[^()]*(?:\([^()]*\)[^()]*)*)\)
    | \$\(subst\s+\.,,\s*\$\((?P<undotted>\w+)\)\)
    | \$\((?P<make>[A-Za-z_]\w*)\)
    | \$(?P<nested>\((?:[^()]|\([^()]*\))*\))
    | \$\{(?P<name>[A-Za-z_]\w*)(?P<operation>[^{}]*)\}
    | \$(?P<bare>[A-Za-z_]\w*)
    | \{\{\s*(?P<jinja>[^{}]+?)\s*\}\}
    | (?<![{$])\{(?P<inserted>[A-Za-z_]\w*)\}(?!\})
    | \{env:(?P<tox>\w+)(?P<otherwise>:[^{}]*)?\}
    | (?P<unknown><[A-Za-z_][\w ]*>|\$[0-9@*]|%[0-9](?![0-9A-Fa-f]))
    """,
    re.VERBOSE | re.ASCII,
)

TextChange = Callable[[str], str]
"""The change that an expansion makes to the value of a variable."""
_UNCHANGED: TextChange = str


def _create_substitution(pattern: str, new: str, count: int = 0) -> TextChange:
    """Return the change that replaces what a pattern matches."""
    return lambda text: re.sub(pattern, new, text, count=count, flags=re.DOTALL)


_NO_DOTS = _create_substitution(r"\.", "")
_NO_FIRST_DOT = _create_substitution(r"\.", "", 1)
_NO_LAST_PART = _create_substitution(r"(?<=.)\.[^.]*\Z", "")
_TWO_PARTS = _create_substitution(r"\A([^.]*\.[^.]*)\..*", r"\1")


def expand_variables(
    view: str, span: Span, lookup: VariableLookup, depth: int = 5
) -> list[ExpandedValue] | str:
    """Expand the variables in the text at ``span``.

    Returns all values that the file allows, or, as text, the first expression that it does not define.
    ``depth`` is how many variables may be made of other variables.
    """
    parts: list[list[tuple[ValuePiece, ...]]] = []
    done = span.start
    for match in _VARIABLE.finditer(view, span.start, span.end):
        if match.start() > done:
            parts.append([ExpandedValue.from_literal(view, Span(done, match.start())).pieces])
        found = _expand_match(view, match, lookup, depth)
        if isinstance(found, str):
            return found
        parts.append(found)
        done = match.end()
    if done < span.end or not parts:
        parts.append([ExpandedValue.from_literal(view, Span(done, span.end)).pieces])
    if math.prod(map(len, parts)) > MAX_ALTERNATIVES:
        return view[span.start : span.end]
    return [ExpandedValue(tuple(piece for one in way for piece in one)) for way in product(*parts)]


def _expand_match(
    view: str, match: re.Match[str], lookup: VariableLookup, depth: int
) -> list[tuple[ValuePiece, ...]] | str:
    """Return the pieces of each value of one expansion, or its text where that is not known."""
    name, change, default = _parse_expansion(match)
    if name is None or change is None or depth == 0:
        return match[0]
    ways: list[tuple[ValuePiece, ...]] = []
    # ``X="${X:-default}"`` gives a variable its default: it does not depend on itself.
    spans = [span for span in lookup(name) if not span.start <= match.start() < span.end]
    spans = spans or ([default] if default is not None else [])
    for span in spans:
        values = expand_variables(view, span, lookup, depth - 1)
        if isinstance(values, str):
            return values
        for value in values:
            if change is _UNCHANGED:
                ways.append(value.pieces)
            elif len(value.pieces) == 1:
                piece = value.pieces[0]
                ways.append((ValuePiece(change(piece.text), piece.span, piece.written),))
            else:
                return match[0]
    distinct = {"".join(p.text for p in way): way for way in reversed(ways)}
    return list(reversed(distinct.values())) or match[0]


def _parse_expansion(match: re.Match[str]) -> tuple[str | None, TextChange | None, Span | None]:
    """Return the variable of an expansion, the change to its value, and where its default is written."""
    if match["undotted"]:
        return match["undotted"], _NO_DOTS, None
    if name := match["make"] or match["bare"] or match["inserted"]:
        return name, _UNCHANGED, None
    if match["github"] or match["jinja"]:
        plain = re.fullmatch(r"(?:[\w-]+\.)*([\w-]+)", match["github"] or match["jinja"])
        return (plain[1] if plain else None), _UNCHANGED, None
    if match["tox"]:
        return match["tox"], _UNCHANGED, _find_default(match, "otherwise", ":")
    if match["name"]:
        operation = match["operation"]
        for prefix in (":-", "-", ":="):
            if operation.startswith(prefix):
                return match["name"], _UNCHANGED, _find_default(match, "operation", prefix)
        return match["name"], _OPERATIONS.get(operation), None
    if match["pipe"]:
        piped = re.fullmatch(r"[\"']?\$\{?(\w+)\}?[\"']?\s*\|(.*)", match["pipe"].strip(), re.DOTALL)
        return (piped[1], _parse_pipeline(piped[2]), None) if piped else (None, None, None)
    return None, None, None


def _find_default(match: re.Match[str], group: str, prefix: str) -> Span | None:
    """Return the span of a group behind its prefix, without quotes; None where the group is absent."""
    if match[group] is None:
        return None
    start = match.start(group) + len(prefix)
    quoted = match[group][len(prefix) :]
    if len(quoted) > 1 and quoted[0] == quoted[-1] and quoted[0] in "\"'":
        return Span(start + 1, match.end(group) - 1)
    return Span(start, match.end(group))


_OPERATIONS: dict[str, TextChange] = {
    "": _UNCHANGED,
    **dict.fromkeys(("//./", "//.", "//\\./"), _NO_DOTS),
    **dict.fromkeys(("/./", "/."), _NO_FIRST_DOT),
    "%.*": _NO_LAST_PART,
}
_FILTERS: tuple[tuple[re.Pattern[str], TextChange], ...] = (
    (re.compile(r"cut\s+-d\s*[\"']?\.[\"']?\s+-f\s*1[,-]2"), _TWO_PARTS),
    (re.compile(r"cut\s+-f\s*1[,-]2\s+-d\s*[\"']?\.[\"']?"), _TWO_PARTS),
    (re.compile(r"tr\s+-d\s+[\"']?\.[\"']?"), _NO_DOTS),
    (re.compile(r"sed\s+(?:-e\s+)?[\"']?s/\\\.//g[\"']?"), _NO_DOTS),
    (re.compile(r"sed\s+(?:-e\s+)?[\"']?s/\\\.//[\"']?"), _NO_FIRST_DOT),
)


def _parse_pipeline(text: str) -> TextChange | None:
    """Return the change that the commands of a shell pipeline make to a version; None for commands that are not understood."""
    steps: list[TextChange] = []
    for part in text.split("|"):
        step = next((change for pattern, change in _FILTERS if pattern.fullmatch(part.strip())), None)
        if step is None:
            return None
        steps.append(step)

    def apply_steps(value: str) -> str:
        for step in steps:
            value = step(value)
        return value

    return apply_steps


def strip_blanks(view: str, start: int, end: int, blanks: str = " \t\r\n\f\\") -> Span:
    """Return the span without the blanks (with line ends and continuations) at both ends."""
    while start < end and view[start] in blanks:
        start += 1
    while start < end and view[end - 1] in blanks:
        end -= 1
    return Span(start, end)


def strip_quotes(view: str, start: int, end: int) -> Span:
    """Return the span without the blanks at both ends and then without a pair of quotes."""
    start, end = strip_blanks(view, start, end, " \t\r\n")
    if end - start > 1 and view[start] == view[end - 1] and view[start] in "\"'":
        return Span(start + 1, end - 1)
    return Span(start, end)


def find_lines(view: str) -> Iterator[Span]:
    """Yield the lines of a text, without their ends."""
    for match in re.finditer(r"(?P<line>[^\r\n]*)(?:\r\n|\n|\r|\Z)", view):
        if match[0]:
            yield Span(*match.span("line"))
