"""Text that is made of variables: what it comes to, and where each part of it is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from torchmigrate.model.findings import Edit, Span

MAX_ALTERNATIVES = 12
"""Values of one text beyond this number are not looked at: a matrix of builds, not a decision."""

Lookup = Callable[[str], list[Span]]
"""Where the values of a variable are written."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a value; ``written`` stands at ``span`` and is ``text`` unless an expansion changes it."""

    text: str
    span: Span
    written: str


@dataclass(frozen=True, slots=True)
class Value:
    """A text and the places that it is made of."""

    pieces: tuple[Piece, ...]

    @classmethod
    def literal(cls, view: str, span: Span) -> Value:
        """The text at ``span`` as it stands there."""
        text = view[span.start : span.end]
        return cls((Piece(text, span, text),))

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(piece.text for piece in self.pieces)

    def edit(self, start: int, end: int, new: str, versions: Mapping[str, str] | None = None) -> Edit | None:
        """The edit that makes ``text[start:end]`` read ``new``; None if no single place decides it.

        Where an expansion takes the dots out of a version (``${CUDA//./}``), the version itself is written:
        ``versions`` maps its two numbers to the full version that is to stand where three are written.
        """
        old = self.text[start:end]
        while old and new and old[0] == new[0]:
            old, new, start = old[1:], new[1:], start + 1
        if not old and not new:
            return None
        offset = 0
        for piece in self.pieces:
            if offset <= start and end <= offset + len(piece.text):
                if piece.text == piece.written:
                    at = piece.span.start - offset
                    return Edit(at + start, at + end, new)
                return _through_expansion(piece, start - offset, end - offset, new, versions or {})
            offset += len(piece.text)
        return None

    def place(self, start: int, end: int) -> Span | None:
        """Where ``text[start:end]`` is written, if that is one place."""
        offset = 0
        for piece in self.pieces:
            if offset <= start and end <= offset + len(piece.text):
                if piece.text == piece.written:
                    return Span(piece.span.start + start - offset, piece.span.start + end - offset)
                return piece.span
            offset += len(piece.text)
        return None


def _through_expansion(
    piece: Piece, start: int, end: int, new: str, versions: Mapping[str, str]
) -> Edit | None:
    digits = piece.text[:start] + new + piece.text[end:]
    if not re.fullmatch(r"\d{3}", digits) and not re.fullmatch(r"\d+\.\d+", digits):
        return None
    dotted = digits if "." in digits else f"{digits[:2]}.{digits[2:]}"
    if piece.written.count(".") == 2:
        if dotted not in versions:
            return None
        dotted = versions[dotted]
    elif piece.written.count(".") != 1:
        return None
    return Edit(piece.span.start, piece.span.end, dotted)


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
    | \{env:(?P<tox>\w+)(?P<otherwise>:[^{}]*)?\}
    | (?P<unknown><[A-Za-z_][\w ]*>|\$[0-9@*]|%[0-9](?![0-9A-Fa-f]))
    """,
    re.VERBOSE | re.ASCII,
)

Change = Callable[[str], str]


def expand(view: str, span: Span, lookup: Lookup, depth: int = 5) -> list[Value] | str:
    """What the text at ``span`` comes to, in all the ways that the file allows, or what remains unknown in it."""
    parts: list[list[tuple[Piece, ...]]] = []
    done = span.start
    for match in _VARIABLE.finditer(view, span.start, span.end):
        if match.start() > done:
            parts.append([_literal(view, done, match.start())])
        found = _expanded(view, match, lookup, depth)
        if isinstance(found, str):
            return found
        parts.append(found)
        done = match.end()
    if done < span.end or not parts:
        parts.append([_literal(view, done, span.end)])
    number = 1
    for part in parts:
        number *= len(part)
    if number > MAX_ALTERNATIVES:
        return view[span.start : span.end]
    return [Value(tuple(piece for one in way for piece in one)) for way in product(*parts)]


def _literal(view: str, start: int, end: int) -> tuple[Piece, ...]:
    return Value.literal(view, Span(start, end)).pieces


def _expanded(view: str, match: re.Match[str], lookup: Lookup, depth: int) -> list[tuple[Piece, ...]] | str:
    name, change, default = _meaning(match)
    if name is None or change is None or depth == 0:
        return match[0]
    ways: list[tuple[Piece, ...]] = []
    # ``X="${X:-default}"`` gives a variable its default: it does not depend on itself.
    spans = [span for span in lookup(name) if not span.start <= match.start() < span.end]
    spans = spans or ([default] if default is not None else [])
    for span in spans:
        values = expand(view, span, lookup, depth - 1)
        if isinstance(values, str):
            return values
        for value in values:
            if change is _same:
                ways.append(value.pieces)
            elif len(value.pieces) == 1:
                piece = value.pieces[0]
                ways.append((Piece(change(piece.text), piece.span, piece.written),))
            else:
                return match[0]
    distinct = {"".join(p.text for p in way): way for way in reversed(ways)}
    return list(reversed(distinct.values())) or match[0]


def _same(text: str) -> str:
    return text


def _meaning(match: re.Match[str]) -> tuple[str | None, Change | None, Span | None]:
    """The variable, what is done to its value, and where its default is written."""
    if match["undotted"]:
        return match["undotted"], _no_dots, None
    if name := match["make"] or match["bare"]:
        return name, _same, None
    if match["github"] or match["jinja"]:
        plain = re.fullmatch(r"(?:[\w-]+\.)*([\w-]+)", match["github"] or match["jinja"])
        return (plain[1] if plain else None), _same, None
    if match["tox"]:
        return match["tox"], _same, _after(match, "otherwise", ":")
    if match["name"]:
        operation = match["operation"]
        for prefix in (":-", "-", ":="):
            if operation.startswith(prefix):
                return match["name"], _same, _after(match, "operation", prefix)
        return match["name"], _OPERATIONS.get(operation), None
    if match["pipe"]:
        piped = re.fullmatch(r"[\"']?\$\{?(\w+)\}?[\"']?\s*\|(.*)", match["pipe"].strip(), re.DOTALL)
        return (piped[1], _pipeline(piped[2]), None) if piped else (None, None, None)
    return None, None, None


def _after(match: re.Match[str], group: str, prefix: str) -> Span | None:
    if match[group] is None:
        return None
    start = match.start(group) + len(prefix)
    quoted = match[group][len(prefix) :]
    if len(quoted) > 1 and quoted[0] == quoted[-1] and quoted[0] in "\"'":
        return Span(start + 1, match.end(group) - 1)
    return Span(start, match.end(group))


def _no_dots(text: str) -> str:
    return text.replace(".", "")


def _no_first_dot(text: str) -> str:
    return text.replace(".", "", 1)


def _no_last_part(text: str) -> str:
    return text.rpartition(".")[0] or text


def _two_parts(text: str) -> str:
    return ".".join(text.split(".")[:2])


_OPERATIONS: dict[str, Change] = {
    "": _same,
    "//./": _no_dots,
    "//.": _no_dots,
    "//\\./": _no_dots,
    "/./": _no_first_dot,
    "/.": _no_first_dot,
    "%.*": _no_last_part,
}
_FILTERS: tuple[tuple[re.Pattern[str], Change], ...] = (
    (re.compile(r"cut\s+-d\s*[\"']?\.[\"']?\s+-f\s*1[,-]2"), _two_parts),
    (re.compile(r"cut\s+-f\s*1[,-]2\s+-d\s*[\"']?\.[\"']?"), _two_parts),
    (re.compile(r"tr\s+-d\s+[\"']?\.[\"']?"), _no_dots),
    (re.compile(r"sed\s+(?:-e\s+)?[\"']?s/\\\.//g[\"']?"), _no_dots),
    (re.compile(r"sed\s+(?:-e\s+)?[\"']?s/\\\.//[\"']?"), _no_first_dot),
)


def _pipeline(text: str) -> Change | None:
    steps: list[Change] = []
    for part in text.split("|"):
        step = next((change for pattern, change in _FILTERS if pattern.fullmatch(part.strip())), None)
        if step is None:
            return None
        steps.append(step)

    def run(value: str) -> str:
        for step in steps:
            value = step(value)
        return value

    return run


def stripped(view: str, start: int, end: int) -> Span:
    """The span without the blanks, line ends and continuations around it."""
    while start < end and view[start] in " \t\r\n\f\\":
        start += 1
    while start < end and view[end - 1] in " \t\r\n\f\\":
        end -= 1
    return Span(start, end)


def unquoted(view: str, start: int, end: int) -> Span:
    """The span without the blanks and the pair of quotes around it."""
    while start < end and view[start] in " \t\r\n":
        start += 1
    while start < end and view[end - 1] in " \t\r\n":
        end -= 1
    if end - start > 1 and view[start] == view[end - 1] and view[start] in "\"'":
        return Span(start + 1, end - 1)
    return Span(start, end)


def lines(view: str, start: int = 0, end: int | None = None) -> Iterator[Span]:
    """The lines in a range, without their ends."""
    for match in re.finditer(r"[^\r\n]*(?:\r\n|\n|\r|\Z)", view[start:end]):
        if match[0]:
            yield Span(start + match.start(), start + match.start() + len(match[0].rstrip("\r\n")))
