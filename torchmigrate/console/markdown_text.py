"""Markdown in which project text is only text, and never markup, a mention or a link."""

from __future__ import annotations

import re

from torchmigrate.console.terminal import escape_controls

_SPECIAL = re.compile(r"([\\*_{}\[\]<>#|~!$&])")
_CODE = re.compile(r"(`[^`]+`)")
_ADDRESS = re.compile(r"(https://[^\s<>()]*[^\s<>().,;:])")


def render_message(text: str) -> str:
    """Return a message as Markdown: backquoted parts become code, the rest is escaped."""
    parts = _CODE.split(text)
    return "".join(
        render_code(part[1:-1]) if index % 2 else escape_markdown(part) for index, part in enumerate(parts)
    )


def escape_markdown(text: str) -> str:
    """Return text escaped for Markdown; a backslash would not keep GitHub from reading ``@name`` as a mention."""
    return _SPECIAL.sub(r"\\\1", escape_controls(text).replace("`", "\\`")).replace("@", "@<!-- -->")


def render_code(text: str) -> str:
    """Return text as code, also inside a table."""
    text = escape_controls(text).replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{padding}{text}{padding}{fence}"


def render_with_links(text: str) -> str:
    """Return a message as `render_message` does, with URLs as links."""
    parts = _ADDRESS.split(text)
    return "".join(
        f"<{escape_controls(part)}>" if index % 2 else render_message(part)
        for index, part in enumerate(parts)
    )
