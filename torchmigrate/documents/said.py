"""The places in a project that name a version of torch, of a companion or of CUDA; searched once for each project."""

from __future__ import annotations

import ast
import contextlib
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from torchmigrate.documents import images
from torchmigrate.documents.document import Document, references_of
from torchmigrate.documents.neighbours import document_of
from torchmigrate.documents.references import Environment, Reference
from torchmigrate.documents.upgrade import COMPANIONS, TORCH, tag_of
from torchmigrate.gates.kinds import concerns, kind_of
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort
from torchmigrate.project.project import Project
from torchmigrate.tables import wheels
from torchmigrate.text.read import read
from torchmigrate.text.source import Source, SourceError

_DOCUMENTATION = ("markdown", "rst", "lock")
"""Kinds of files that follow the project's own files: a lock is written by its tool."""

_OLD_CUDA = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"(?:cu|cuda|cudatoolkit|cuda-toolkit)[-_=]{0,2}|cuda_version[\s\"'=:]{1,4}|(?:cuda|lib(?:cu|np|nv)\w+)(?:-[a-z]+)+-"
    r"|nvidia/cuda:|(?<![/.])\w*cuda\w*[/@]"
    r")(?P<major>1[0-3])(?:[-._]?\d(?:\.\d+)*|x)?(?!\w)",
    re.IGNORECASE,
)
"""A CUDA version in a text: ``cu121``, ``cuda-12-1``, ``module load cuda/12.1``."""
_OLD_TORCH = re.compile(
    r"(?<![A-Za-z])(?:torch|pt|pytorch)[-_=]*v?(?P<version>[12]\.\d{1,2})(?:\.\d+)?", re.IGNORECASE
)
"""A torch version in a text: ``torch-2.1.0``, ``pt2.1``."""
_INSIDE = re.compile(r"[\w.-](?:py)?torch")
_MENTIONED = r"[Tt]orch|TORCH|[Cc][Uu][Dd][Aa]|cu1[0-3]|t\x00o\x00r\x00c\x00h"
"""A prefilter for files; the last part is UTF-16, in which PowerShell writes lists."""
_INSTALLED = re.compile(r"(?<![\w.-])torch(?:vision|audio)?==(?P<version>\d+\.\d+)|/whl/(?P<tag>cu1\d\d)")


@dataclass(frozen=True, slots=True)
class Saying:
    """One place that names a version: a reference in a project file, or a part of a text."""

    path: str
    text: str
    source: Source | None = None
    environment: Environment | None = None
    reference: Reference | None = None
    torch: str = ""
    """The torch version that a text names."""
    cuda: str = ""
    """The CUDA version; for an index, that of its variant."""


def sayings(project: Project) -> list[Saying]:
    """Return all such places in project files, and in Python modules that install something."""
    return project.once("sayings", lambda: list(_sayings(project)))


def _sayings(project: Project) -> Iterator[Saying]:
    """Search all files of a project."""
    for path, _ in project.spelling(((), (_MENTIONED,)), beside=""):
        kind = kind_of(path)
        if kind in _DOCUMENTATION:
            continue
        if kind is None and path.endswith(".py"):
            yield from _in_module(path, project.text(path) or b"")
        elif kind == "notebook":
            yield from _in_notebook(path, project)
        elif document := document_of(path, project):
            yield from _referred(document, document.references)
            yield from _in_text(document)
    for path, *_ in project.elsewhere({" .py ": _INSTALLED.pattern}):
        with contextlib.suppress(OSError):
            yield from _in_module(path, Path(path).read_bytes())


def _in_notebook(path: str, project: Project) -> Iterator[Saying]:
    """Yield the references in the commands of a notebook; its text is not searched, since it contains outputs."""
    data = project.text(path)
    with contextlib.suppress(SourceError, RecursionError):
        if data is not None and concerns("notebook", data):
            source = read(path, data)
            yield from _referred(source, references_of(source))


def _referred(source: Source, references: list[Reference]) -> Iterator[Saying]:
    """Yield the references of a file that name a version."""
    for one in references:
        if meaning := _meaning(one):
            yield Saying(source.path, meaning[0], source, one.unit.environment, one, cuda=meaning[1])


def _meaning(one: Reference) -> tuple[str, str] | None:
    """Return how to show a reference, and its CUDA version; None for a reference that names no version."""
    if one.undecided:
        return None
    if one.sort is Sort.REQUIREMENT and one.name in (*TORCH, *COMPANIONS):
        return f"{one.name}{one.text}", ""
    if one.sort is Sort.INDEX and (tag := tag_of(one)):
        return tag.name, wheels.cuda_of(tag.name)
    if one.sort is Sort.IMAGE:
        found = images.CUDA_TAG.match(one.text) if one.name == "nvidia/cuda" else None
        return f"{one.name}:{one.text}", found["cuda"] if found else ""
    if one.sort is Sort.VARIABLE and one.name == "CUDA_VERSION":
        return one.text, one.text
    return None


def _in_text(document: Document) -> Iterator[Saying]:
    """Yield the versions in the text of a file that are no references, without comments."""
    text = without_comments(document.view)
    inside = _Inside(document)
    for match in named_versions(text):
        if not inside.refers(match.start()):
            found = match.groupdict()
            torch, cuda = found.get("version") or "", found.get("major") or ""
            environment = inside.environment(match.start())
            yield Saying(document.path, word(text, match), document, environment, torch=torch, cuda=cuda)


def named_versions(text: str) -> Iterator[re.Match[str]]:
    """Yield the CUDA versions (with a group ``major``) and then the torch versions (``version``) in a text."""
    yield from _OLD_CUDA.finditer(text)
    for match in _OLD_TORCH.finditer(text):
        # The pin of a package whose name ends in "torch" has that package's version.
        if not ("=" in match[0] and _INSIDE.match(text, max(match.start() - 1, 0))):
            yield match


def without_comments(text: str) -> str:
    """Replace the comments in a text (from ``#``) by blanks."""
    return re.sub(r"(?m)(?:^|(?<=\s))#.*$", lambda comment: " " * len(comment[0]), text)


def word(text: str, match: re.Match[str]) -> str:
    """Return the last 80 characters of the word around a match."""
    start = max(text.rfind(c, 0, match.start()) for c in " \t\n\"'") + 1
    end = re.compile(r"[\s\"']|$").search(text, match.end())
    return text[start : end.start() if end else match.end()][-80:]


class _Inside:
    """The references and environments of a file, by offset."""

    def __init__(self, document: Document) -> None:
        self._spans = sorted(one.span for one in document.references if _meaning(one))
        self._environments = sorted(
            (span, number)
            for number, one in enumerate(document.environments)
            for span in one.spans or [Span(0, 1 << 40)]
        )
        self._document = document

    def refers(self, at: int) -> bool:
        """Return whether an offset is in a reference that names a version."""
        number = bisect_right(self._spans, at, key=lambda span: span.start)
        return number > 0 and at < self._spans[number - 1].end

    def environment(self, at: int) -> Environment | None:
        """Return the innermost environment around an offset."""
        number = bisect_right(self._environments, at, key=lambda pair: pair[0].start)
        for span, index in reversed(self._environments[max(0, number - 8) : number]):
            if at < span.end:
                return self._document.environments[index]
        return None


def _in_module(path: str, data: bytes) -> Iterator[Saying]:
    """Yield the versions in the strings of a Python module, except for docstrings."""
    if _INSTALLED.search(data.decode("latin-1")) is None:
        return
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            for match in _INSTALLED.finditer(node.value):
                torch, tag = match["version"] or "", match["tag"] or ""
                family = match[0].partition("=")[0]
                yield Saying(
                    path,
                    word(node.value, match),
                    torch=torch if family == "torch" else "",
                    cuda=wheels.cuda_of(tag),
                )


def shown(saying: Saying, project: Project) -> str:
    """Render a place for a message."""
    return f"`{saying.text}` in {project.shown(saying.path)}"
