"""Code that is kept as it is: archives, records of a day, lessons, code of others, and copies of files that live on."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping

from torchmigrate.api import Context
from torchmigrate.project.folders import is_within
from torchmigrate.project.import_closure import find_importing_files
from torchmigrate.project.project_facts import Project

_FOLDER = re.compile(
    r"(?i)(?:archived?|old|legacy|deprecated|obsolete|attic|backups?|third_?party|3rd_?party|vendor(?:ed)?|externals?"
    r"|tutorials?|lectures?|lessons?|courses?|exercises?|homeworks?|ch(?:apter)?[ _-]?\d+(?:\D.*)?|appendix(?:[ _-].*)?"
    r"|(?:.*[_-])?from[_-]scratch"
    r"|(?:19|20)\d\d([-_.]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])(?:\D.*)?)"
)
"""The name of a folder with code that is kept as it was, that others maintain, or that teaches; or a date."""
_NUMBERED = re.compile(r"(?i)((?:.*[\W_])?v(?:er(?:sion)?)?[_.-]?)(\d+)(?:\D.*)?")
"""A name with a version: ``model_v2``, ``v3``, ``RWKV-v4neo``."""
_MARKED = re.compile(r"(?i)(.*\w)[._ -]+(?:old|backup|bak|orig|original|copy|deprecated|legacy|previous)\d*")
_DEFINITION = re.compile(rb"(?m)^(?:async[ \t]+def|def|class)[ \t]+(\w+)")
_OWNERS = {" license ": r"(?i)copyright[^\n]*"}
_NOTICE = re.compile(r"(?i)copyright\s*(?:\(c\)|©|\d{4})[^\n]*")
_ANYONE = frozenset(
    """
    affiliates all and authored authors company contributors copyright corp corporation group inc its labs limited llc ltd now
    others present project reserved research rights team the
    """.split()  # noqa: SIM905 -- a list of words is read as one
)
"""Words that say nothing about who an owner is."""
_RENAMED = {"facebook": "meta"}
_TAKEN = re.compile(rb"(?i)\b(?:copied|copy|taken|borrowed) (?:verbatim |directly |mostly )?from\b")
_HEAD_BYTES = 800
"""The bytes at the beginning of a file in which it says where it comes from."""
_MANY_COPIES = 3
"""The number of equal files of one name from which on each belongs to what it is released with, as a checkpoint."""


def is_kept(ctx: Context) -> bool:
    """Return whether nobody improves the file here: by its folder's name, by a license, or since it is one of several copies."""
    path = os.path.abspath(ctx.source.path)
    project = ctx.project
    *folders, _ = project.get_repository_path(ctx.source.path).replace("\\", "/").split("/")
    return (
        any(map(_FOLDER.fullmatch, folders))
        or _is_foreign(path, ctx)
        or project.compute_once((is_kept, path), lambda: _is_copy(project, path, ctx.source.text))
    )


def _is_foreign(path: str, ctx: Context) -> bool:
    """Return whether the file says that it is another's, or a folder around it has the license of another than the topmost one."""
    if _TAKEN.search(ctx.source.text[:_HEAD_BYTES]):
        return True
    found = {
        os.path.dirname(os.path.abspath(shown)): owner for shown, _, owner in ctx.search_elsewhere(_OWNERS)
    }
    around = sorted((folder for folder in found if is_within(path, folder)), key=len)
    if any(found[folder] != found[around[0]] for folder in around):
        return True
    of_project = _find_owners(found[around[0]]) if around else []
    of_file = _find_owners(ctx.source.text[:_HEAD_BYTES].decode("utf-8", "replace"))
    return bool(of_project and of_file) and not any(one & other for one in of_project for other in of_file)


def _find_owners(text: str) -> list[set[str]]:
    """Find the owners that notices of copyright name, each as the words of the name."""
    names = (re.findall(r"[^\W\d_]{3,}", notice.lower()) for notice in _NOTICE.findall(text))
    owners = [{_RENAMED.get(word, word) for word in words} - _ANYONE for words in names]
    return [owner for owner in owners if owner]


def _is_copy(project: Project, path: str, text: bytes) -> bool:
    """Return whether the file is one of many equal ones, or an old copy that nothing outside of the copy imports.

    Of an old copy, a newer file defines most of the same. Their paths differ in one folder, or in their own name: it has
    a higher number there, or is not marked as a copy.
    """
    name = os.sep + os.path.basename(path)
    others = (one for one in project.list_paths() if one.endswith(name) and one != path)
    if sum(project.read_code(other) == text for other in others) >= _MANY_COPIES - 1:
        return True
    defined = set(_DEFINITION.findall(text))
    for newer, copy in _find_newer(project, path):
        if 2 * len(defined.intersection(_list_definitions(project, newer))) > len(defined):
            return all(is_within(importer, copy) for importer in find_importing_files(project, path))
    return False


def _list_definitions(project: Project, path: str) -> list[bytes]:
    return _DEFINITION.findall(project.read_code(path) or b"")


def _find_newer(project: Project, path: str) -> Iterator[tuple[str, str]]:
    """Yield the files whose paths differ from that of an old copy in the name of the copy only, with the file or folder that is the copy."""
    stem, suffix = os.path.splitext(path)
    parts = stem.split(os.sep)
    for at, part in enumerate(parts):
        if _NUMBERED.fullmatch(part) or _MARKED.fullmatch(part):
            above = os.sep.join(parts[:at])
            names = project.compute_once(_index_names, lambda: _index_names(project))
            for name in names.get(above, ()):
                newer = os.sep.join((above, name, *parts[at + 1 :])) + suffix
                if _is_newer(name, part) and newer in project:
                    yield newer, os.path.join(above, part) if at < len(parts) - 1 else path


def _index_names(project: Project) -> Mapping[str, Collection[str]]:
    """Return the names of the folders, and of the files without suffixes, in each folder of the project."""
    names: dict[str, dict[str, None]] = {}
    for path in project.list_paths():
        below = os.path.splitext(path)[0]
        while (folder := os.path.dirname(below)) != below:
            listed = names.setdefault(folder.rstrip(os.sep), {})
            if os.path.basename(below) in listed:
                break  # and so are the folders above
            listed[os.path.basename(below)] = None
            below = folder
    return names


def _is_newer(name: str, old: str) -> bool:
    marked = _MARKED.fullmatch(old)
    one, other = _NUMBERED.fullmatch(name), _NUMBERED.fullmatch(old)
    return (marked is not None and marked[1] == name) or (
        one is not None and other is not None and one[1] == other[1] and int(one[2]) > int(other[2])
    )
