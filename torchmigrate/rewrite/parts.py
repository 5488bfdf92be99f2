"""Templates as code in which a name stands for each part, so that `ast` and libcst can parse it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from .changes import Symbol, Template

_NAME = re.compile(r"\{\{|\}\}|\{(\w+)\}")
_MARK = "__part_{}__"
_MARKED = re.compile(r"__part_(\w+)__\Z")

_Single = (ast.expr, Template)


def marked(template: Template) -> str:
    """The code with a mark for each part, and one for each element of a sequence."""

    def mark(name: str) -> str:
        part = template.parts[name]
        if isinstance(part, Symbol):
            return part.text
        if isinstance(part, _Single):
            return mark_of(name)
        return ", ".join(
            "*" * isinstance(element, ast.Starred) + mark_of(f"{name}_{index}")
            for index, element in enumerate(part)
        )

    return _written(template, mark)


def mark_of(name: str) -> str:
    """What stands for the part with a name."""
    return _MARK.format(name)


def part_of(identifier: str, template: Template) -> ast.expr | Template | None:
    """What an identifier of the marked code stands for; None for a name of the template's own."""
    match = _MARKED.match(identifier)
    if match is None:
        return None
    part = template.parts.get(match[1])
    if part is None:
        listed, _, index = match[1].rpartition("_")
        part = template.parts[listed][int(index)]  # type: ignore[index]
        part = part.value if isinstance(part, ast.Starred) else part
    assert isinstance(part, _Single)
    return part


def shown(template: Template, text: Callable[[ast.AST], str]) -> str:
    """The template on one line, as a title or a message shows it; ``text`` gives the source of a node."""

    def show(name: str) -> str:
        part = template.parts[name]
        if isinstance(part, Symbol):
            return part.text
        singles = [part] if isinstance(part, _Single) else part
        written = (shown(one, text) if isinstance(one, Template) else text(one) for one in singles)
        return ", ".join(" ".join(one.split()) for one in written)

    return _written(template, show)


def nodes_of(template: Template) -> Iterator[ast.expr]:
    """The nodes of the file that a template, or one inside it, is made of."""
    for part in template.parts.values():
        for one in [part] if isinstance(part, (*_Single, Symbol)) else part:
            if isinstance(one, Template):
                yield from nodes_of(one)
            elif isinstance(one, ast.expr):
                yield one


def _written(template: Template, write: Callable[[str], str]) -> str:
    return _NAME.sub(lambda match: match[0][0] if match[1] is None else write(match[1]), template.code)
