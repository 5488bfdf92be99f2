"""pyproject.toml, Pipfile, other TOML files and lock files: the strings in them, and what they mean by their keys."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from itertools import pairwise
from typing import NamedTuple

from torchmigrate.documents import shell
from torchmigrate.documents.purposes import Purpose, purpose_of
from torchmigrate.documents.reader import Reader
from torchmigrate.documents.references import Role, Style, Unit
from torchmigrate.documents.spellings import INDEX_URL
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort
from torchmigrate.text.source import SourceError
from torchmigrate.text.toml import toml_loads

Path = tuple[str, ...]
"""The keys that lead to a value; an index in an array is a number as text."""

_SKIP = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
_BLANK = re.compile(r"[ \t]*")
_STRING = re.compile(
    r'"""(?P<mb>(?:\\.|[^\\])*?)"""(?!")|\'\'\'(?P<ml>.*?)\'\'\'(?!\')|"(?P<b>(?:\\.|[^"\\\r\n])*)"|\'(?P<l>[^\'\r\n]*)\'',
    re.DOTALL,
)
_BARE = re.compile(r"[\w-]+", re.ASCII)
_SCALAR = re.compile(r"[^,\]}\r\n#]+")

_REQUIREMENTS = re.compile(
    r"project/dependencies/\d+|project/optional-dependencies/[^/]+/\d+|dependency-groups/[^/]+/\d+|build-system/requires/\d+"
    r"|tool/uv/(?:dev|constraint|override|build-constraint)-dependencies/\d+|tool/pdm/dev-dependencies/[^/]+/\d+"
    r"|tool/hatch/envs/[^/]+/(?:extra-)?dependencies/\d+|tool/pdm/overrides/\d+"
    r"|envs/[^/]+/(?:extra-)?dependencies/\d+"
)
_GROUPS = re.compile(
    r"(?:project/optional-dependencies|dependency-groups|tool/poetry/group|(?:tool/pixi/)?feature)/(?P<group>[^/]+)/.*"
)
_NOBODYS = re.compile(
    r"build-system/.*|tool/uv/(?:constraint|override|build-constraint)-.*|tool/pdm/overrides/.*"
)
_DEVELOPERS = re.compile(r".*/?dev-(?:dependencies|packages)/.*|(?:tool/hatch/)?envs/.*")
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


def read(reader: Reader) -> None:
    """Read a TOML file. Raises SourceError if it is not valid."""
    check(reader.view)
    unit = reader.unit()
    for path, span in strings(reader.view):
        _string(reader, unit, "/".join(path), span)


def check(view: str) -> None:
    """Raise SourceError if the text is not valid TOML."""
    try:
        toml_loads(view.encode("latin-1").decode())
    except ValueError as error:
        place = re.search(r"at line (\d+), column (\d+)", str(error))
        line, column = (int(place[1]), int(place[2])) if place else (None, None)
        raise SourceError(f"not valid TOML: {error}", line, column) from None


def _string(reader: Reader, unit: Unit, path: str, span: Span) -> None:
    """Read one string, by its path: ``project/dependencies/0``."""
    text = reader.view[span.start : span.end]
    names = _TABLES.fullmatch(path)
    reader.purpose = _purpose(path)
    if _PYTHON.fullmatch(path):
        reader.add(Sort.PYTHON, "", span, unit, option="poetry" if "poetry" in path else "")
    elif _NAMES.fullmatch(path):
        reader.add(Sort.NAME, text, span, unit)
    elif _SOURCES.fullmatch(path) and INDEX_URL.fullmatch(text):
        if text.endswith(".whl"):
            reader.wheel(span, unit)
        else:
            reader.index(span, unit, "index")
    elif path.endswith("pip/torch-backend") or path == "tool/uv/torch-backend":
        reader.index(span, unit, "--torch-backend")
    elif path.startswith("tool/setuptools/dynamic/"):
        return  # names of files
    elif _REQUIREMENTS.fullmatch(path):
        reader.requirement(span, unit)
    elif names:
        style = Style.POETRY if names["poetry"] else Style.CONDA if names["conda"] else Style.PEP508
        name = next(name for name in names.groups() if name)
        # ``*`` stands for any version, that is, for no specifier.
        specifier = Span(span.start, span.start) if text.strip() == "*" else span
        reader.package(name, specifier, unit, whole=span, style=style)
    else:
        key = path.rpartition("/")[2]
        if re.fullmatch(r"[A-Z][A-Z0-9_]+", key):
            reader.define(key, span.start, span.end)
        elif re.fullmatch(r"(?:manylinux|musllinux)-[\w-]+-image|macosx-deployment-target", key):
            reader.add(Sort.VARIABLE, key, span, reader.unit())
        shell.commands(reader, span.start, span.end)


def _purpose(path: str) -> Purpose:
    """Return the purpose of the requirement at a path."""
    if _NOBODYS.fullmatch(path):
        return Purpose.OTHER
    if _DEVELOPERS.fullmatch(path):
        return Purpose.DEVELOPMENT
    group = _GROUPS.fullmatch(path)
    return purpose_of(group["group"]) if group else Purpose.RUN


def strings(view: str) -> Iterator[tuple[Path, Span]]:
    """Yield each string of a valid TOML text: its path, and its span without the quotes. Strings with escapes are left out."""
    at = 0
    table: Path = ()
    counts: dict[Path, int] = {}
    while True:
        at = _match(_SKIP, view, at)
        if at >= len(view):
            return
        if view[at] == "[":
            array = view.startswith("[[", at)
            keys, at = _keys(view, at + 1 + array)
            table = _numbered(keys, counts)
            if array:
                counts[table] = counts.get(table, -1) + 1
                table = (*table, str(counts[table]))
            at = view.index("]", at) + 1 + array
        else:
            keys, at = _keys(view, at)
            at = _match(_BLANK, view, view.index("=", at) + 1)
            at = yield from _value(view, at, (*table, *keys))


def _numbered(keys: Path, counts: dict[Path, int]) -> Path:
    """Return a table's path with the numbers of the arrays of tables in it; their last element so far is meant."""
    path: Path = ()
    for key in keys[:-1]:
        path = (*path, key)
        if path in counts:
            path = (*path, str(counts[path]))
    return (*path, keys[-1])


def _keys(view: str, at: int) -> tuple[Path, int]:
    """Return the dotted key that begins at ``at``, and where it ends."""
    keys: list[str] = []
    while True:
        at = _match(_BLANK, view, at)
        if string := _STRING.match(view, at):
            keys.append(next(group for group in string.groups() if group is not None))
            at = string.end()
        else:
            end = _match(_BARE, view, at)
            keys.append(view[at:end])
            at = end
        at = _match(_BLANK, view, at)
        if not view.startswith(".", at):
            return tuple(keys), at
        at += 1


def _value(view: str, at: int, path: Path) -> Generator[tuple[Path, Span], None, int]:
    """Yield the strings in the value that begins at ``at``; return where it ends."""
    if string := _STRING.match(view, at):
        kind = next(name for name in ("mb", "ml", "b", "l") if string[name] is not None)
        if kind in ("ml", "l") or "\\" not in string[kind]:
            yield path, Span(*string.span(kind))
        return string.end()
    if view[at] not in "[{":
        return _match(_SCALAR, view, at)
    closing = "]" if view[at] == "[" else "}"
    at += 1
    number = 0
    while True:
        at = _match(_SKIP, view, at)
        if view[at] == closing:
            return at + 1
        if view[at] == ",":
            at += 1
        elif closing == "]":
            at = yield from _value(view, at, (*path, str(number)))
            number += 1
        else:
            keys, at = _keys(view, at)
            at = _match(_BLANK, view, view.index("=", at) + 1)
            at = yield from _value(view, at, (*path, *keys))


def _match(pattern: re.Pattern[str], view: str, at: int) -> int:
    """Return where a match of a pattern at ``at`` ends; ``at`` if there is none."""
    match = pattern.match(view, at)
    return match.end() if match else at


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


class Locked(NamedTuple):
    """A package in a lock file."""

    name: str
    version: Span
    origin: str = ""
    """The index that the package comes from; empty where the file does not name it."""
    marker: str = ""
    """The environment marker of a package that the file lists more than once."""


def read_lock(reader: Reader) -> None:
    """Read a lock file of uv, Poetry, PDM, Pipenv, pip, pixi or conda: the versions, and one URL of each build."""
    view = reader.view
    unit = reader.unit(Role.LOCK)
    if not view.lstrip().startswith("{") and re.search(r"^\[", view, re.MULTILINE):
        check(view)  # those of pixi and conda-lock are YAML
    units: dict[str, Unit] = {}
    for package in locked(view):
        tag = _tag(package.origin)
        if tag not in units:
            units[tag] = reader.unit(Role.LOCK) if tag else unit
        reader.package(package.name, package.version, units[tag], marker=package.marker)
    seen: set[str] = set()
    for match in INDEX_URL.finditer(view):
        if (tag := _tag(match[0])) and tag not in seen:
            seen.add(tag)
            reader.index(Span(*match.span()), units.get(tag, unit), "")


def _tag(url: str) -> str:
    """Return the variant (``cu130``) that an index of torch's builds names; empty for other URLs."""
    found = re.search(r"/whl/(?:test/|nightly/)?(\w+)", url)
    return found[1] if found and INDEX_URL.fullmatch(url) else ""


def locked(view: str) -> Iterator[Locked]:
    """Yield the packages in a lock file of any kind, without validating it."""
    if view.lstrip().startswith("{"):
        for match in _JSON_VERSION.finditer(view):
            if version := re.search(r'"version": "(?P<version>==[^"]+)"', match["body"]):
                start, end = (match.start("body") + at for at in version.span("version"))
                yield Locked(match["name"], Span(start, end))
        return
    starts = [match.start() for match in _PACKAGE.finditer(view)]
    if not starts:
        for match in _CONDA_LOCKED.finditer(view):
            version_of = "version" if match["name"] else "build"
            yield Locked(match["name"] or match["archive"], Span(*match.span(version_of)))
        return
    for start, end in pairwise([*starts, len(view)]):
        name, locked_at = _NAME.search(view, start, end), _VERSION.search(view, start, end)
        if name and locked_at:
            index, markers = _REGISTRY.search(view, start, end), _MARKERS.search(view, start, end)
            found = re.findall(r'"([^"]*)"', markers["markers"]) if markers else []
            marker = " or ".join(f"({one})" for one in found)
            yield Locked(
                name["name"], Span(*locked_at.span("version")), index["index"] if index else "", marker
            )
