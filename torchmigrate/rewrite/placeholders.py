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


def render_placeholders(template: Template) -> str:
    """Return the code of a template with a placeholder for each part, or for each element of a sequence."""

    def render_part(name: str) -> str:
        part = template.parts[name]
        if isinstance(part, Symbol):
            return part.text
        if isinstance(part, _Single):
            return format_placeholder(name)
        return ", ".join(
            "*" * isinstance(element, ast.Starred) + format_placeholder(f"{name}_{index}")
            for index, element in enumerate(part)
        )

    return _substitute_parts(template, render_part)


def format_placeholder(name: str) -> str:
    """Return the placeholder for the part called ``name``."""
    return _MARK.format(name)


def find_part(identifier: str, template: Template) -> ast.expr | Template | None:
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


def render_title(template: Template, text: Callable[[ast.AST], str]) -> str:
    """Render the template on one line for a title or a message; ``text`` returns the source of a node."""

    def render_part(name: str) -> str:
        part = template.parts[name]
        if isinstance(part, Symbol):
            return part.text
        singles = [part] if isinstance(part, _Single) else part
        written = (render_title(one, text) if isinstance(one, Template) else text(one) for one in singles)
        return ", ".join(" ".join(one.split()) for one in written)

    return _substitute_parts(template, render_part)


def _substitute_parts(template: Template, write: Callable[[str], str]) -> str:
    return _NAME.sub(lambda match: match[0][0] if match[1] is None else write(match[1]), template.code)
