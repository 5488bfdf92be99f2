"""Old copies of files that live on beside them: under a newer number, or without the word that marks the copy."""

from __future__ import annotations

import os
import re

from torchmigrate.api import Context
from torchmigrate.project.folders import is_within
from torchmigrate.project.import_closure import find_importing_files
from torchmigrate.project.project_facts import Project

_NUMBERED = re.compile(r"(?i)((?:.*[\W_])?v(?:er(?:sion)?)?[_.-]?)(\d+)(?:\D.*)?")
"""A name with a version: ``model_v2``, ``v3``, ``RWKV-v4neo``."""
_MARKED = re.compile(r"(?i)(.*\w)[._ -]+(?:old|backup|bak|orig|original|copy|deprecated|legacy|previous)\d*")
_DEFINITION = re.compile(rb"(?m)^(?:async[ \t]+def|def|class)[ \t]+(\w+)")


def is_old_copy(ctx: Context) -> bool:
    """Return whether a newer file defines most of what the file defines, and nothing outside of the copy imports it.

    The path of the newer file differs in one folder, or in its own name, which has a higher number or is not marked.
    """
    path = os.path.abspath(ctx.source.path)
    project = ctx.project
    return project.compute_once((is_old_copy, path), lambda: _is_old_copy(project, path, ctx.source.text))


def _is_old_copy(project: Project, path: str, text: bytes) -> bool:
    defined = set(_DEFINITION.findall(text))
    for newer in project.list_paths():
        copy = _find_copy(path, newer)
        if copy is not None and 2 * len(defined.intersection(_list_definitions(project, newer))) > len(
            defined
        ):
            return all(is_within(importer, copy) for importer in find_importing_files(project, path))
    return False


def _list_definitions(project: Project, path: str) -> list[bytes]:
    return _DEFINITION.findall(project.read_code(path) or b"")


def _find_copy(path: str, newer: str) -> str | None:
    """Return the file or folder that is an old copy by its name, if the paths differ in its name only."""
    (stem, suffix), (newer_stem, newer_suffix) = os.path.splitext(path), os.path.splitext(newer)
    parts, newer_parts = stem.split(os.sep), newer_stem.split(os.sep)
    if suffix != newer_suffix or len(parts) != len(newer_parts):
        return None
    differing = [at for at, (one, other) in enumerate(zip(parts, newer_parts, strict=True)) if one != other]
    match differing:
        case [at] if _is_newer(newer_parts[at], parts[at]):
            return path if at == len(parts) - 1 else os.sep.join(parts[: at + 1])
    return None


def _is_newer(name: str, old: str) -> bool:
    marked = _MARKED.fullmatch(old)
    one, other = _NUMBERED.fullmatch(name), _NUMBERED.fullmatch(old)
    return (marked is not None and marked[1] == name) or (
        one is not None and other is not None and one[1] == other[1] and int(one[2]) > int(other[2])
    )
