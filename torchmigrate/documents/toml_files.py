"""pyproject.toml, Pipfile, other TOML files and lock files: their strings, interpreted by their keys.

`tomllib` validates them but has no places, so the strings are found by hand, one token at a time. Locks, which have megabytes, are searched by patterns for the few lines of each package that matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from torchmigrate.documents import shell_commands
from torchmigrate.documents.reference_patterns import INDEX_URL
from torchmigrate.documents.reference_reader import ReferenceReader
from torchmigrate.documents.references import InstallRole, InstallUnit, VersionStyle
from torchmigrate.documents.requirement_purposes import Purpose, guess_purpose
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort
from torchmigrate.text.source_text import SourceError
from torchmigrate.text.toml_reader import parse_toml

Path = tuple[str, ...]
"""The keys that lead to a value; an index in an array is a number as text."""

_TOKEN = re.compile(
    r"#[^\r\n]*|[ \t]+"
    r'|"""(?P<mb>(?:\\.|[^\\])*?)"""(?!")|\'\'\'(?P<ml>.*?)\'\'\'(?!\')|"(?P<b>(?:\\.|[^"\\\r\n])*)"|\'(?P<l>[^\'\r\n]*)\''
    r"|(?P<bare>[\w-]+)|(?P<mark>[\[\]{}=,\n])|.",
    re.DOTALL | re.ASCII,
)
"""A token of TOML; the strings are multi-line and one-line basic ones (``mb``, ``b``), and literal ones (``ml``, ``l``)."""

_REQUIREMENTS = re.compile(
    r"project/dependencies/\d+|project/optional-dependencies/[^/]+/\d+|dependency-groups/[^/]+/\d+|build-system/requires/\d+"
    r"|tool/uv/(?:dev|constraint|override|build-constraint)-dependencies/\d+|tool/pdm/dev-dependencies/[^/]+/\d+"
    r"|tool/hatch/envs/[^/]+/(?:extra-)?dependencies/\d+|tool/pdm/overrides/\d+"
    r"|envs/[^/]+/(?:extra-)?dependencies/\d+|(?:tool/uv/)?extra-build-dependencies/[^/]+/\d+(?:/requirement)?"
)
_GROUPS = re.compile(
    r"(?:project/optional-dependencies|dependency-groups|tool/poetry/group|(?:tool/pixi/)?feature)/(?P<group>[^/]+)/.*"
)
_NOT_RUN_TIME = re.compile(
    r"build-system/.*|tool/uv/(?:constraint|override|build-constraint)-.*|tool/pdm/overrides/.*"
    r"|(?:tool/uv/)?extra-build-dependencies/.*"
)
_DEVELOPMENT = re.compile(r".*/?dev-(?:dependencies|packages)/.*|(?:tool/hatch/)?envs/.*")
_TABLES = re.compile(
    r"tool/poetry/(?:(?:dev-)?dependencies|group/[^/]+/dependencies)/(?P<poetry>[^/]+)(?:/\d+)?(?:/version)?"
    r"|(?:tool/pixi/)?(?:(?:feature/[^/]+|target/[^/]+)/)*pypi-dependencies/(?P<pypi>[^/]+)(?:/version)?"
    r"|(?:tool/pixi/)?(?:(?:feature/[^/]+|target/[^/]+)/)*dependencies/(?P<conda>[^/]+)(?:/version)?"
    r"|(?:dev-)?packages/(?P<pipfile>[^/]+)(?:/version)?"
)
_SOURCES = re.compile(
    r"tool/(?:uv/index|poetry/source|pdm/source)/\d+/url|tool/uv/(?:pip/)?(?:(?:extra-)?index-url|find-links|index)(?:/\d+)?"
    r"|source/\d+/url|index/\d+/url|(?:pip/)?(?:(?:extra-)?index-url|find-links)(?:/\d+)?|.*/pypi-options/.*|.*dependencies/[^/]+(?:/\d+)?/(?:index|url)"
)
_NAMES = re.compile(
    r"tool/(?:uv/index|poetry/source|pdm/source)/\d+/name|tool/uv/sources/[^/]+(?:/\d+)?/index"
    r"|.*dependencies/[^/]+(?:/\d+)?/source|source/\d+/name|(?:dev-)?packages/[^/]+/index|index/\d+/name|sources/[^/]+(?:/\d+)?/index"
)
_PYTHON = re.compile(r"project/requires-python|tool/poetry/dependencies/python(?:/version)?")


def read_toml(reader: ReferenceReader) -> None:
    """Read a TOML file. Raises SourceError if it is not valid."""
    check_syntax(reader.view)
    unit = reader.begin_unit()
    for path, span in find_strings(reader.view):
        _read_string(reader, unit, "/".join(path), span)


def check_syntax(view: str) -> None:
    """Raise SourceError if the text is not valid TOML."""
    try:
        parse_toml(view.encode("latin-1").decode())
    except ValueError as error:
        place = re.search(r"at line (\d+), column (\d+)", str(error))
        line, column = (int(place[1]), int(place[2])) if place else (None, None)
        raise SourceError(f"not valid TOML: {error}", line, column) from None


def _read_string(reader: ReferenceReader, unit: InstallUnit, path: str, span: Span) -> None:
    """Read one string, by its path: ``project/dependencies/0``."""
    text = reader.view[span.start : span.end]
    names = _TABLES.fullmatch(path)
    reader.purpose = _find_purpose(path)
    if _PYTHON.fullmatch(path):
        reader.add_reference(Sort.PYTHON, "", span, unit, option="poetry" if "poetry" in path else "")
    elif _NAMES.fullmatch(path):
        reader.add_reference(Sort.NAME, text, span, unit)
    elif _SOURCES.fullmatch(path) and INDEX_URL.fullmatch(text):
        reader.add_index_or_wheel(span, unit, "index")
    elif path.endswith("pip/torch-backend") or path == "tool/uv/torch-backend":
        reader.add_index(span, unit, "--torch-backend")
    elif path.startswith("tool/setuptools/dynamic/"):
        return  # names of files
    elif _REQUIREMENTS.fullmatch(path):
        reader.add_requirement(span, unit)
    elif names:
        kind = names.lastgroup or ""
        style = {"poetry": VersionStyle.POETRY, "conda": VersionStyle.CONDA}.get(kind, VersionStyle.PEP508)
        # ``*`` stands for any version, that is, for no specifier.
        specifier = Span(span.start, span.start) if text.strip() == "*" else span
        reader.add_package(names[kind], specifier, unit, whole=span, style=style)
    else:
        key = path.rpartition("/")[2]
        if re.fullmatch(r"[A-Z][A-Z0-9_]+", key):
            reader.define_variable(key, span.start, span.end)
        elif re.fullmatch(r"(?:manylinux|musllinux)-[\w-]+-image|macosx-deployment-target", key):
            reader.add_reference(Sort.VARIABLE, key, span, reader.begin_unit())
        shell_commands.read_commands(reader, span.start, span.end)


def _find_purpose(path: str) -> Purpose:
    """Return the purpose of the requirement at a path."""
    if _NOT_RUN_TIME.fullmatch(path):
        return Purpose.OTHER
    if _DEVELOPMENT.fullmatch(path):
        return Purpose.DEVELOPMENT
    group = _GROUPS.fullmatch(path)
    return guess_purpose(group["group"]) if group else Purpose.RUN


def find_strings(view: str) -> Iterator[tuple[Path, Span]]:
    """Yield each string of a valid TOML text: its path, and its span without the quotes. Strings with escapes are left out."""
    table: Path = ()
    counts: dict[Path, int] = {}
    keys: list[str] = []
    path: Path | None = None  # of the value that is read; None while a key is read
    header = 0
    outer: list[tuple[Path, bool]] = []  # the arrays (True) and inline tables around the value
    for token in _TOKEN.finditer(view):
        kind, mark = token.lastgroup, token["mark"]
        if mark is None and kind is not None:
            if path is None:
                keys.append(token[kind])
            # The span of a string with escapes is not that of its value.
            elif kind != "bare" and (kind in ("ml", "l") or "\\" not in token[kind]):
                yield path, Span(*token.span(kind))
        elif mark == "=":
            path, keys = (*(outer[-1][0] if outer else table), *keys), []
        elif mark == "[" and path is None:
            header += 1
        elif mark == "]" and header:
            table, keys, header = _number_tables(tuple(keys), counts, is_array=header == 2), [], 0
        elif path is not None and mark in ("[", "{"):
            outer.append((path, mark == "["))
            path = (*path, "0") if mark == "[" else None
        elif mark in ("]", "}") and outer:
            path, _ = outer.pop()
        elif mark == "," and outer:
            path = (*outer[-1][0], str(int(path[-1]) + 1)) if outer[-1][1] and path else None
        elif mark == "\n" and not outer:
            path = None


def _number_tables(keys: Path, counts: dict[Path, int], *, is_array: bool) -> Path:
    """Return the path of a table, with the number of the last element so far of each array of tables in it."""
    path: Path = ()
    for key in keys[:-1]:
        path = (*path, key)
        if path in counts:
            path = (*path, str(counts[path]))
    path = (*path, *keys[-1:])
    if is_array:
        counts[path] = counts.get(path, -1) + 1
        path = (*path, str(counts[path]))
    return path


_PACKAGE = re.compile(r"^\[\[packages?\]\]", re.MULTILINE)
_NAME = re.compile(r'^name = "(?P<name>[^"]+)"', re.MULTILINE)
_VERSION = re.compile(r'^version = "(?P<version>[^"]+)"', re.MULTILINE)
_REGISTRY = re.compile(r'^(?:source = \{ registry|url) = "(?P<index>[^"]+)"', re.MULTILINE)
_MARKERS = re.compile(r"^resolution-markers = \[(?P<markers>[^\]]*)\]", re.MULTILINE)
_CONDA_LOCKED = re.compile(
    r"^ *- (?:(?:pypi|kind): \S+\r?\n +)?name: (?P<name>[\w.-]+)\r?\n +version: (?P<version>[\w.+!-]+)"
    r"|^(?:- conda: |(?=https?://))\S+/(?P<archive>[a-z][\w.-]*?)-(?P<build>\d[\w.]*)-\w+\.(?:conda|tar\.bz2)",
    re.MULTILINE,
)
"""A package in conda-lock.yml or pixi.lock, or in a list of URLs from ``conda-lock`` or ``conda list --explicit``."""
_JSON_VERSION = re.compile(r'^ *"(?P<name>[\w.-]+)": \{(?P<body>[^{}]*)\}', re.MULTILINE)


class LockedPackage(NamedTuple):
    """A package in a lock file."""

    name: str
    version: Span
    origin: str = ""
    """The index that the package comes from; empty where the file does not name it."""
    marker: str = ""
    """The environment marker of a package that the file lists more than once."""


def read_lock(reader: ReferenceReader) -> None:
    """Read a lock file of uv, Poetry, PDM, Pipenv, pip, pixi or conda: the versions, and one URL of each build."""
    view = reader.view
    unit = reader.begin_unit(InstallRole.LOCK)
    if not view.lstrip().startswith("{") and re.search(r"^\[", view, re.MULTILINE):
        check_syntax(view)  # those of pixi and conda-lock are YAML
    units: dict[str, InstallUnit] = {}
    for package in find_locked_packages(view):
        tag = _find_variant(package.origin)
        if tag not in units:
            units[tag] = reader.begin_unit(InstallRole.LOCK) if tag else unit
        reader.add_package(package.name, package.version, units[tag], marker=package.marker)
    seen: set[str] = set()
    for match in INDEX_URL.finditer(view):
        if (tag := _find_variant(match[0])) and tag not in seen:
            seen.add(tag)
            reader.add_index(Span(*match.span()), units.get(tag, unit), "")


def _find_variant(url: str) -> str:
    """Return the variant (``cu130``) that an index of torch's builds names; empty for other URLs."""
    found = re.search(r"/whl/(?:test/|nightly/)?(\w+)", url)
    return found[1] if found and INDEX_URL.fullmatch(url) else ""


def find_locked_packages(view: str) -> Iterator[LockedPackage]:
    """Yield the packages in a lock file of any kind, without validating it."""
    if view.lstrip().startswith("{"):
        for match in _JSON_VERSION.finditer(view):
            if version := re.search(r'"version": "(?P<version>==[^"]+)"', match["body"]):
                start, end = (match.start("body") + at for at in version.span("version"))
                yield LockedPackage(match["name"], Span(start, end))
        return
    starts = [match.start() for match in _PACKAGE.finditer(view)]
    if not starts:
        for match in _CONDA_LOCKED.finditer(view):
            version_of = "version" if match["name"] else "build"
            yield LockedPackage(match["name"] or match["archive"], Span(*match.span(version_of)))
        return
    for start, end in pairwise([*starts, len(view)]):
        name, locked_at = _NAME.search(view, start, end), _VERSION.search(view, start, end)
        if name and locked_at:
            index, markers = _REGISTRY.search(view, start, end), _MARKERS.search(view, start, end)
            found = re.findall(r'"([^"]*)"', markers["markers"]) if markers else []
            marker = " or ".join(f"({one})" for one in found)
            origin = index["index"] if index else ""
            yield LockedPackage(name["name"], Span(*locked_at.span("version")), origin, marker)
