"""Markdown in which project text is only text, and never markup, a mention or a link."""

from __future__ import annotations

import re

from torchmigrate.console.terminal import escape

_SPECIAL = re.compile(r"([\\*_{}\[\]<>#|~!$&])")
_CODE = re.compile(r"(`[^`]+`)")
_ADDRESS = re.compile(r"(https://[^\s<>()]*[^\s<>().,;:])")


def said(text: str) -> str:
    """Return a message as Markdown: backquoted parts become code, the rest is escaped."""
    parts = _CODE.split(text)
    return "".join(code(part[1:-1]) if index % 2 else plain(part) for index, part in enumerate(parts))


def plain(text: str) -> str:
    """Return text escaped for Markdown; a backslash would not keep GitHub from reading ``@name`` as a mention."""
    return _SPECIAL.sub(r"\\\1", escape(text).replace("`", "\\`")).replace("@", "@<!-- -->")


def code(text: str) -> str:
    """Return text as code, also inside a table."""
    text = escape(text).replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{padding}{text}{padding}{fence}"


def with_links(text: str) -> str:
    """Return a message as `said` does, with addresses as links."""
    parts = _ADDRESS.split(text)
    return "".join(f"<{escape(part)}>" if index % 2 else said(part) for index, part in enumerate(parts))
