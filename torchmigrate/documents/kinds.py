"""Which files are project files, told by their names, and which of those say anything about torch."""

from __future__ import annotations

import codecs
import os
import re

_NAMES = (
    (r"(?:.*[-_.])?(?:requirements|constraints?)(?:[-_.].*)?\.(?:txt|in)|(?:requirements|constraints).*\.txt", "requirements"),
    (r"pyproject\.toml|pixi\.toml|uv\.toml|hatch\.toml|Pipfile", "toml"),
    (r"(?:uv|poetry|pdm)\.lock|pylock(?:\..+)?\.toml|Pipfile\.lock", "lock"),
    (r"setup\.cfg|tox\.ini", "ini"),
    (r"setup\.py|noxfile\.py", "python"),
    (r".*\.ya?ml", "yaml"),
    (r".*\.(?:sh|bash|zsh|bat|ps1)|.*\.def", "shell"),
    (r"(?:GNU)?[Mm]akefile(?:\..*)?|.*\.mk|[Jj]ustfile", "make"),
    (r".*\.(?:md|markdown)", "markdown"),
    (r"(?!.*\.(?:dockerignore|py|json|txt)$)(?:(?:.*[-_.])?(?:Dockerfile|Containerfile)(?:[-_.].*)?|.*\.dockerfile|dockerfile)", "docker"),
)  # fmt: skip
_KINDS = tuple((re.compile(pattern), kind) for pattern, kind in _NAMES)
_IN_REQUIREMENTS_FOLDER = re.compile(r"(?:requirements|constraints)")

_TOKENS = re.compile(rb"[Tt]orch|TORCH|nvidia/cuda")


def kind_of(path: str) -> str | None:
    """The kind of project file that ``path`` names, or None.

    A ``.txt`` or ``.in`` file in a folder called ``requirements`` is a requirements file whatever its name.
    """
    name = os.path.basename(path)
    for pattern, kind in _KINDS:
        if pattern.fullmatch(name):
            return kind
    folder = os.path.basename(os.path.dirname(path))
    if name.endswith((".txt", ".in")) and _IN_REQUIREMENTS_FOLDER.fullmatch(folder):
        return "requirements"
    return None


def concerns(data: bytes) -> bool:
    """Gate 1: whether the content can hold anything that a rule looks for."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = data.replace(b"\0", b"")
    return _TOKENS.search(data) is not None
