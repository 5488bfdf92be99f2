"""The places in a project that name a version of torch, of a companion or of CUDA; searched once for each project."""

from __future__ import annotations

import ast
import contextlib
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from torchmigrate.documents import base_images
from torchmigrate.documents.project_documents import ProjectDocument, read_references
from torchmigrate.documents.references import Environment, Reference
from torchmigrate.documents.related_files import read_project_document
from torchmigrate.documents.upgrade_rules import COMPANIONS, TORCH_NAMES, find_cuda_tag
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort
from torchmigrate.prefilter.project_file_kinds import installs_torch, kind_of, may_concern_rules
from torchmigrate.project.project_facts import Project
from torchmigrate.tables import build_selection
from torchmigrate.text.source_reader import read_source
from torchmigrate.text.source_text import SourceError, SourceText

_DOCUMENTATION = ("markdown", "rst", "lock")
"""Kinds of files that follow the project's own files: a lock is written by its tool."""

_CUDA_VERSION = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:cu|cuda|cudatoolkit|cuda-toolkit)[-_=]{0,2}|cuda_version[\s\"'=:]{1,4}|(?:cuda|lib(?:cu|np|nv)\w+)(?:-[a-z]+)+-"
    r"|nvidia/cuda:|(?<![/.])\w*cuda\w*[/@]"
    r")(?P<major>1[0-3])(?:[-._]?\d(?:\.\d+)*|x)?(?!\w)",
    re.IGNORECASE,
)
"""A CUDA version in a text: ``cu121``, ``cuda-12-1``, ``module load cuda/12.1``."""
_TORCH_VERSION = re.compile(
    r"(?<![A-Za-z])(?:torch|pt|pytorch)[-_=]*v?(?P<version>[12]\.\d{1,2})(?:\.\d+)?", re.IGNORECASE
)
"""A torch version in a text: ``torch-2.1.0``, ``pt2.1``."""
_LONGER_NAME = re.compile(r"[\w.-](?:py)?torch")
_PREFILTER = r"[Tt]orch|TORCH|[Cc][Uu][Dd][Aa]|cu1[0-3]|t\x00o\x00r\x00c\x00h"
"""A prefilter for files; the last part is UTF-16, in which PowerShell writes lists."""
_INSTALL_TEXT = re.compile(r"(?<![\w.-])torch(?:vision|audio)?==(?P<version>\d+\.\d+)|/whl/(?P<tag>cu1\d\d)")


@dataclass(frozen=True, slots=True)
class VersionMention:
    """One place that names a version: a reference in a project file, or a part of a text."""

    path: str
    text: str
    source: SourceText | None = None
    environment: Environment | None = None
    reference: Reference | None = None
    torch: str = ""
    """The torch version that a text names."""
    cuda: str = ""
    """The CUDA version; for an index, that of its variant."""


def find_mentions(project: Project) -> list[VersionMention]:
    """Return all mentions of versions in project files, and in Python modules that install something."""
    return project.compute_once("sayings", lambda: list(_search_mentions(project)))


def _search_mentions(project: Project) -> Iterator[VersionMention]:
    """Search all files of a project."""
    for path, _ in project.find_spellings(((), (_PREFILTER,)), beside=""):
        kind = kind_of(path)
        if kind in _DOCUMENTATION:
            continue
        if kind is None and path.endswith(".py"):
            data = project.read_bytes(path) or b""
            yield from _search_python(path, project) if installs_torch(data) else _search_module(path, data)
        elif kind == "notebook":
            yield from _search_python(path, project)
        elif document := read_project_document(path, project):
            yield from _search_references(document, document.references)
            yield from _search_text(document)
    for path, *_ in project.search_unread_files({" .py ": _INSTALL_TEXT.pattern}):
        with contextlib.suppress(OSError):
            yield from _search_module(path, Path(path).read_bytes())


def _search_python(path: str, project: Project) -> Iterator[VersionMention]:
    """Yield the references in the commands of a notebook or a module; the rest of its text, such as output, is not searched."""
    data = project.read_bytes(path)
    with contextlib.suppress(SourceError, RecursionError):
        if data is not None and (path.endswith(".py") or may_concern_rules("notebook", data)):
            source = read_source(path, data)
            yield from _search_references(source, read_references(source))


def _search_references(source: SourceText, references: list[Reference]) -> Iterator[VersionMention]:
    """Yield the references of a file that name a version."""
    for one in references:
        if meaning := _describe_reference(one):
            yield VersionMention(source.path, meaning[0], source, one.unit.environment, one, cuda=meaning[1])


def _describe_reference(one: Reference) -> tuple[str, str] | None:
    """Return the text that shows a reference, and its CUDA version; None for a reference that names no version."""
    if one.undecided:
        return None
    if one.sort is Sort.REQUIREMENT and one.name in (*TORCH_NAMES, *COMPANIONS):
        return one.shown, ""
    if one.sort is Sort.INDEX and (tag := find_cuda_tag(one)):
        return tag.name, build_selection.parse_variant_cuda(tag.name)
    if one.sort is Sort.IMAGE:
        found = base_images.CUDA_TAG.match(one.text) if one.name == "nvidia/cuda" else None
        return f"{one.name}:{one.text}", found["cuda"] if found else ""
    if one.sort is Sort.VARIABLE and one.name == "CUDA_VERSION" and one.text:
        return one.text, one.text
    return None


def _search_text(document: ProjectDocument) -> Iterator[VersionMention]:
    """Yield the versions in the text of a file that are no references, without comments."""
    text = blank_comments(document.byte_view)
    inside = _OffsetIndex(document)
    for match in find_named_versions(text):
        if not inside.is_in_reference(match.start()):
            found = match.groupdict()
            torch, cuda = found.get("version") or "", found.get("major") or ""
            word, environment = find_word(text, match), inside.find_environment(match.start())
            yield VersionMention(document.path, word, document, environment, torch=torch, cuda=cuda)


def find_named_versions(text: str) -> Iterator[re.Match[str]]:
    """Yield the CUDA versions (with a group ``major``) and then the torch versions (``version``) in a text."""
    yield from _CUDA_VERSION.finditer(text)
    for match in _TORCH_VERSION.finditer(text):
        # The pin of a package whose name ends in "torch" has that package's version.
        if not ("=" in match[0] and _LONGER_NAME.match(text, max(match.start() - 1, 0))):
            yield match


def blank_comments(text: str) -> str:
    """Replace the comments in a text (from ``#``) by blanks."""
    return re.sub(r"(?m)(?:^|(?<=\s))#.*$", lambda comment: " " * len(comment[0]), text)


def find_word(text: str, match: re.Match[str]) -> str:
    """Return the word around a match; of a long one the part behind the last slash, or its last 80 characters."""
    start = max(text.rfind(c, 0, match.start()) for c in " \t\n\"'") + 1
    end = re.compile(r"[\s\"']|$").search(text, match.end())
    word = text[start : end.start() if end else match.end()]
    return word if len(word) <= 80 else word.rpartition("/")[2][-80:]


class _OffsetIndex:
    """The references and environments of a file, by offset."""

    def __init__(self, document: ProjectDocument) -> None:
        self._spans = sorted(one.span for one in document.references if _describe_reference(one))
        self._environments = sorted(
            (span, number)
            for number, one in enumerate(document.environments)
            for span in one.spans or [Span(0, 1 << 40)]
        )
        self._document = document

    def is_in_reference(self, at: int) -> bool:
        """Return whether an offset is in a reference that names a version."""
        number = bisect_right(self._spans, at, key=lambda span: span.start)
        return number > 0 and at < self._spans[number - 1].end

    def find_environment(self, at: int) -> Environment | None:
        """Return the innermost environment around an offset."""
        number = bisect_right(self._environments, at, key=lambda pair: pair[0].start)
        for span, index in reversed(self._environments[max(0, number - 8) : number]):
            if at < span.end:
                return self._document.environments[index]
        return None


def _search_module(path: str, data: bytes) -> Iterator[VersionMention]:
    """Yield the versions in the strings of a Python module, except for docstrings."""
    if _INSTALL_TEXT.search(data.decode("latin-1")) is None:
        return
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            for match in _INSTALL_TEXT.finditer(node.value):
                torch, tag = match["version"] or "", match["tag"] or ""
                family = match[0].partition("=")[0]
                yield VersionMention(
                    path,
                    find_word(node.value, match),
                    torch=torch if family == "torch" else "",
                    cuda=build_selection.parse_variant_cuda(tag),
                )


def render_mention(saying: VersionMention, project: Project) -> str:
    """Render a place for a message."""
    return f"`{saying.text}` in {project.get_display_path(saying.path)}"
