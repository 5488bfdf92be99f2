"""The names of a project's own packages, which no package index must be asked for."""

from __future__ import annotations

import re

from torchmigrate.documents.references import normalize_name
from torchmigrate.project.project_facts import Project
from torchmigrate.text.toml_reader import parse_toml

_NAME = (r"(?m)^\s*name\s*=",)
_METADATA = ("pyproject.toml", "setup.cfg", "setup.py")


def find_own_names(project: Project) -> frozenset[str]:
    """Return the names of the projects in a tree, and of what they take from a folder or a repository."""
    return project.compute_once("own names", lambda: frozenset(_search_names(project)))


def _search_names(project: Project) -> list[str]:
    found: list[str] = []
    for path, *_ in project.find_spellings(((), _NAME), beside=""):
        name = path.replace("\\", "/").rpartition("/")[2]
        if name not in _METADATA:
            continue
        text = (project.read_bytes(path) or b"").decode("utf-8", "replace")
        if name == "pyproject.toml":
            found += _read_pyproject(text)
        else:
            found += re.findall(r"(?m)^\s*name\s*=\s*[\"']?([\w.-]+)", text)[:1]
    return [normalize_name(one) for one in found]


def _read_pyproject(text: str) -> list[str]:
    """Return the names in one pyproject.toml; none for one that is malformed."""
    try:
        table = parse_toml(text)
    except ValueError:
        return []
    tool = _get(table, "tool")
    names = [_get(table, "project").get("name"), _get(tool, "poetry").get("name")]
    sources = _get(_get(tool, "uv"), "sources")
    names += [
        name for name, where in sources.items() if isinstance(where, dict) and not {"index"} >= where.keys()
    ]
    return [name for name in names if isinstance(name, str)]


def _get(table: object, key: str) -> dict[str, object]:
    found = table.get(key) if isinstance(table, dict) else None
    return found if isinstance(found, dict) else {}
