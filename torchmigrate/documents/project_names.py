"""The names of a project's own packages, which no package index must be asked for."""

from __future__ import annotations

import re

from torchmigrate.documents.references import normalize_name
from torchmigrate.project.folders import METADATA
from torchmigrate.project.project_facts import Project
from torchmigrate.text.toml_reader import parse_toml

_NAME = (r"(?m)^\s*name\s*=",)


def find_own_names(project: Project) -> frozenset[str]:
    """Return the names of the projects in a tree, and of what they take from a folder or a repository."""
    return project.compute_once("own names", lambda: frozenset(_search_names(project)))


def _search_names(project: Project) -> list[str]:
    found: list[str] = []
    for path, *_ in project.find_spellings(((), _NAME), beside=""):
        name = path.replace("\\", "/").rpartition("/")[2]
        if name not in METADATA:
            continue
        text = (project.read_bytes(path) or b"").decode("utf-8", "replace")
        found += read_project_names(name, text)
        if name == "pyproject.toml":
            found += _read_local_sources(text)
    return [normalize_name(one) for one in found]


def read_project_names(file_name: str, text: str) -> list[str]:
    """Return the names that a metadata file gives its project, as written; none for one that is malformed."""
    if file_name != "pyproject.toml":
        return re.findall(r"(?m)^\s*name\s*=\s*[\"']?([\w.-]+)", text)[:1]
    table = _parse_table(text)
    names = [_get(table, "project").get("name"), _get(_get(table, "tool"), "poetry").get("name")]
    return [name for name in names if isinstance(name, str)]


def _read_local_sources(text: str) -> list[str]:
    """Return the names of what a pyproject.toml takes from a folder or a repository."""
    sources = _get(_get(_get(_parse_table(text), "tool"), "uv"), "sources")
    return [
        name for name, where in sources.items() if isinstance(where, dict) and not {"index"} >= where.keys()
    ]


def _parse_table(text: str) -> dict[str, object]:
    try:
        return parse_toml(text)
    except ValueError:
        return {}


def _get(table: object, key: str) -> dict[str, object]:
    found = table.get(key) if isinstance(table, dict) else None
    return found if isinstance(found, dict) else {}
