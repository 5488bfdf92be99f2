"""The nodes of a YAML text with their places; PyYAML finds them, also in templates and beside malformed lines.

PyYAML sees a copy of the text in which every character is at the offset of the original one: the tags of templates
(``{{ … }}``, ``{% … %}``) and bytes outside of ASCII are replaced by letters, or by blanks where they are whole lines.
A line that PyYAML refuses is blanked, too, and the rest is parsed again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torchmigrate.documents.expanded_values import strip_blanks
from torchmigrate.model.findings import Span

_MAX_MALFORMED_LINES = 20
_DEEPEST = 200
_TAG = re.compile(r"\$?\{\{[^\n]{0,300}?\}\}+|\{%[^\n]{0,300}?%\}|\{#[^\n]{0,300}?#\}|<%[^\n]{0,300}?%>")
_CONFLICT = re.compile(r"(?:<{7}|={7}|>{7}|\|{7})(?:\s|\Z)")
"""A mark that git leaves in a file with a conflict."""
_NOT_ASCII = re.compile(r"[^\t\r\n -~]")
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)+")
"""The anchor and the tag before a value."""
_INNER_TAB = re.compile(r"(?<=[^\n\t ])[ ]*\t+")


@dataclass(slots=True)
class YamlNode:
    """A scalar, a sequence (``items``) or a mapping (``pairs``); its span has neither quotes nor the head of a block."""

    span: Span
    style: str = ""
    """Of a scalar its opening: ``"``, ``'``, ``|``, ``>`` or nothing; ``[`` or ``{`` of what is in brackets."""
    items: list[YamlNode] | None = None
    pairs: list[tuple[YamlNode, YamlNode]] | None = None

    @property
    def is_scalar(self) -> bool:
        """Whether the node is a text."""
        return self.items is None and self.pairs is None

    def find_value(self, view: str, *keys: str) -> YamlNode | None:
        """Return the first value of a mapping under one of these keys; None for other nodes."""
        return next((value for key, value in self.pairs or () if key.extract_text(view) in keys), None)

    def extract_text(self, view: str) -> str:
        """Return the text of a scalar as it is written, without its quotes."""
        return view[self.span.start : self.span.end]


@dataclass
class YamlTree:
    """The documents of a YAML text."""

    roots: list[YamlNode] = field(default_factory=list)
    malformed: list[int] = field(default_factory=list)
    """The numbers of the lines that were left out, from 0."""


def parse_yaml(view: str) -> YamlTree | None:
    """Return the nodes of a text with one character for each byte; None where most of it is no YAML."""
    lines = _mask_templates(view).splitlines(keepends=True)
    malformed = [number for number, line in enumerate(lines) if _CONFLICT.match(line)]
    for number in malformed:
        lines = _blank_line(lines, number)
    attempt = _parse_lines(view, lines)
    while isinstance(attempt, _Failure):
        suspects = [n for n in dict.fromkeys(attempt.suspects) if 0 <= n < len(lines) and lines[n].strip()]
        if not suspects or len(malformed) >= _MAX_MALFORMED_LINES:
            return None
        # The line without which the parser gets furthest is the malformed one.
        tried = {number: _parse_lines(view, _blank_line(lines, number)) for number in suspects}
        number = max(suspects, key=lambda one: _measure_reach(tried[one]))
        lines, attempt = _blank_line(lines, number), tried[number]
        malformed.append(number)
    return YamlTree(attempt, malformed)


def _blank_line(lines: list[str], number: int) -> list[str]:
    """Return the lines with one of them replaced by blanks."""
    return [*lines[:number], re.sub(r"[^\r\n]", " ", lines[number]), *lines[number + 1 :]]


def _measure_reach(attempt: list[YamlNode] | _Failure) -> float:
    """Return the number of lines that an attempt has understood."""
    return attempt.reached if isinstance(attempt, _Failure) else math.inf


def _mask_templates(view: str) -> str:
    """Return the text that PyYAML parses; see the head of this module."""
    text = _NOT_ASCII.sub("x", view)
    if text.lstrip().startswith(("{", "[")):
        text = text.replace("\t", " ")
    text = _INNER_TAB.sub(lambda match: " " * len(match[0]), text)
    return "".join(map(_mask_tags, text.splitlines(keepends=True)))


def _mask_tags(line: str) -> str:
    """Return a line with letters for the tags of a template, or with blanks where it has nothing else."""
    if not any(opening in line for opening in ("{{", "{%", "{#", "<%")):
        return line
    filler = "x" if _TAG.sub("", line).strip() else " "
    return _TAG.sub(lambda match: filler * len(match[0]), line)


class _Failure(NamedTuple):
    """A failed attempt to parse a text: the lines that may be the reason, and the line where the parser gave up."""

    suspects: tuple[int, ...]
    reached: int


def _parse_lines(view: str, lines: list[str]) -> list[YamlNode] | _Failure:
    """Return the roots of all documents in a text, or which of its lines may be malformed."""
    import yaml

    try:
        return list(_build_roots(view, "".join(lines)))
    except yaml.MarkedYAMLError as error:
        marks = (error.problem_mark, error.context_mark)
        problem, context = (mark.line if mark else -1 for mark in marks)
        # What opens and does not close ends only where the parser no longer understands what is in it.
        if re.search("quoted|flow", error.context or "") and not lines[0].startswith(("{", "[")):
            return _Failure((context,), problem)
        before = next((n for n in range(min(problem, len(lines)) - 1, -1, -1) if lines[n].strip()), -1)
        return _Failure((problem, context, before), problem)
    except _TooDeep as error:
        return _Failure((error.line,), error.line)


class _TooDeep(Exception):
    """The exception for a text whose nodes are nested too deeply in a line."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


def _build_roots(view: str, text: str) -> Iterator[YamlNode]:
    """Yield the root of each document. Raises yaml.MarkedYAMLError and _TooDeep.

    The nodes are built from events, since `yaml.compose` recurses, and in C without any limit.
    """
    import yaml

    outer: list[YamlNode] = []
    keys: list[tuple[YamlNode, YamlNode]] = []
    """The mappings whose next value comes next, each with its key."""
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        if isinstance(event, yaml.CollectionStartEvent):
            flow = "{" if isinstance(event, yaml.MappingStartEvent) else "["
            node = YamlNode(Span(event.start_mark.index, 0), flow if event.flow_style else "")
            node.items, node.pairs = (None, []) if flow == "{" else ([], None)
            outer.append(node)
            if len(outer) > _DEEPEST:
                raise _TooDeep(event.start_mark.line)
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            node = outer.pop()
            node.span = Span(node.span.start, event.end_mark.index)
        elif isinstance(event, yaml.NodeEvent):
            node = _create_scalar(view, event)
        else:
            continue
        if not outer:
            yield node
        elif (items := outer[-1].items) is not None:
            items.append(node)
        elif (pairs := outer[-1].pairs) is not None and keys and keys[-1][0] is outer[-1]:
            pairs.append((keys.pop()[1], node))
        else:
            keys.append((outer[-1], node))


def _create_scalar(view: str, event: Any) -> YamlNode:
    """Return the node of a scalar, or of an alias, which has no text."""
    start, end = event.start_mark.index, event.end_mark.index
    style = getattr(event, "style", "*") or ""
    if properties := _PROPERTIES.match(view, start, end):
        start = properties.end()
    if style == "*":
        start = end
    elif style in ("|", ">"):
        start = view.find("\n", start, end) + 1 or end
    elif style:
        start, end = start + 1, end - 1
    return YamlNode(strip_blanks(view, start, end, " \t\r\n"), style)
