"""The files of a project that a file runs with: those that it imports, and those that these import."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchmigrate.api import Context

_FROM = re.compile(
    rb"^[ \t]*from[ \t]+(?P<dots>\.*)(?P<module>[\w.]*)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^\r\n;#]*)"
    rb"|^[ \t]*import[ \t]+(?P<whole>[\w.]+)",
    re.MULTILINE,
)
_MOST = 200
"""Files beyond which no more are followed."""


def brought(ctx: Context) -> list[str]:
    """The paths of the project's files that this one imports, at once or through others."""
    path = os.path.abspath(ctx.source.path)
    found = {path: None}
    waiting = [(path, ctx.source.text)]
    for importer, text in waiting:  # which grows
        for one in _imported(importer, text, ctx):
            content = None if one in found or len(found) > _MOST else ctx.project.text(one)
            if content is not None:
                found[one] = None
                waiting.append((one, content))
    return [one for one in found if one != path]


def _imported(path: str, text: bytes, ctx: Context) -> Iterator[str]:
    links = ctx.project.links(path)
    for match in _FROM.finditer(text):
        module = (match["whole"] or match["module"]).decode().strip(".")
        parts, dots = module.split(".") if module else [], len(match["dots"] or b"")
        yield from links.files(dots, parts)
        for name in re.findall(rb"\w+", match["names"] or b""):
            yield from links.files(dots, [*parts, name.decode()])
