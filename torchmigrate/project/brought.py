"""The files of a project that a file imports, directly or through others."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.project.project import Project

_IMPORT = re.compile(
    rb"^[ \t]*from[ \t]+(?P<dots>\.*)(?P<module>[\w.]*)[ \t]+import[ \t]*(?P<names>\([^)]*\)|[^\r\n;#]*)"
    rb"|^[ \t]*import[ \t]+(?P<whole>[\w.]+)",
    re.MULTILINE,
)
_MOST = 200
"""The number of files after which no more imports are followed."""


def brought(project: Project, path: str, text: bytes) -> list[str]:
    """Return the paths of files that the file at ``path`` with this ``text`` imports, directly or through others."""
    found = {path: None}
    waiting = [(path, text)]
    for importer, content in waiting:  # the list grows while it is walked
        for one in _imported(project, importer, content):
            of_one = None if one in found or len(found) > _MOST else project.text(one)
            if of_one is not None:
                found[one] = None
                waiting.append((one, of_one))
    return [one for one in found if one != path]


def _imported(project: Project, path: str, text: bytes) -> Iterator[str]:
    links = project.links(path)
    for match in _IMPORT.finditer(text):
        module = (match["whole"] or match["module"]).decode().strip(".")
        parts, dots = module.split(".") if module else [], len(match["dots"] or b"")
        yield from links.files(dots, parts)
        for name in re.findall(rb"\w+", match["names"] or b""):
            yield from links.files(dots, [*parts, name.decode()])
