"""Templates as code with a placeholder name for each part, so that `ast` and libcst can parse it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from .changes import Symbol, Template

_NAME = re.compile(r"\{\{|\}\}|\{(\w+)\}")
_MARK = "__part_{}__"
_MARKED = re.compile(r"__part_(\w+)__\Z")

_Single = (ast.expr, Template)


def marked(template: Template) -> str:
    """Return the code of a template with a placeholder for each part, or for each element of a sequence."""

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
    """Return the placeholder for the part called ``name``."""
    return _MARK.format(name)


def part_of(identifier: str, template: Template) -> ast.expr | Template | None:
    """Return the part that a placeholder stands for, or None if the identifier is no placeholder."""
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
    """Render the template on one line for a title or a message; ``text`` returns the source of a node."""

    def show(name: str) -> str:
        part = template.parts[name]
        if isinstance(part, Symbol):
            return part.text
        singles = [part] if isinstance(part, _Single) else part
        written = (shown(one, text) if isinstance(one, Template) else text(one) for one in singles)
        return ", ".join(" ".join(one.split()) for one in written)

    return _written(template, show)


def _written(template: Template, write: Callable[[str], str]) -> str:
    return _NAME.sub(lambda match: match[0][0] if match[1] is None else write(match[1]), template.code)
