"""Collects references while a file is read, and resolves the variables in them when all of it is known."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from torchmigrate.documents.purposes import Purpose
from torchmigrate.documents.references import (
    Environment,
    Reference,
    Role,
    Style,
    Unit,
    normalized,
)
from torchmigrate.documents.values import Piece, Value, expand, stripped, unquoted
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort

_INSERTION = r"\$\{\{[^{}]*\}\}|\$\([^()]*(?:\([^()]*\)[^()]*)*\)|\$\{[^{}]*\}|\{\{[^{}]*\}\}|\{env:[^{}]*\}"
_URL_CHARACTER = rf"(?:{_INSERTION}|\$\w+|<\w+>|[\w.~:/?#@!&*+=%-])"
INDEX_URL = re.compile(
    rf"(?:https?://{_URL_CHARACTER}*?|//)?(?:download(?:-r2)?\.pytorch\.org/whl|/pytorch-wheels)(?:/{_URL_CHARACTER}*)?",
    re.ASCII,
)
"""The index of torch's builds, or a mirror of it."""

LIBTORCH = re.compile(rf"https?://download(?:-r2)?\.pytorch\.org/libtorch/{_URL_CHARACTER}+?\.zip", re.ASCII)
"""An archive of torch's C++ library."""

_WATCHED = r"(?:(?<=:-)|(?<![\w.-]))(?P<repository>nvidia/cuda|pytorch/pytorch|nvidia/pytorch)"
_REPOSITORY = re.compile(rf"{_WATCHED}\Z")
IMAGE = re.compile(
    rf"{_WATCHED}:(?P<tag>(?:{_INSERTION}|\$\w+|[\w.-])+)(?P<digest>@sha256:\w+)?",
    re.ASCII,
)

TELLING = re.compile(
    r"TORCH_CUDA_ARCH_LIST|CMAKE_CUDA_ARCHITECTURES|CUDA_VERSION|TORCH_DISTRIBUTED_USE_TORCHCOMMS"
    r"|MACOSX_DEPLOYMENT_TARGET|CIBW_MANYLINUX_\w+_IMAGE|PYTORCH_CUDA_ALLOC_CONF"
    r"|NCCL_(?:ASYNC_ERROR_HANDLING|BLOCKING_WAIT|DESYNC_DEBUG|ENABLE_TIMING)"
    r"|TORCH_NCCL_(?:TRACE_BUFFER_SIZE|TRACE_CPP_STACK|DEBUG_INFO_TEMP_FILE)"
)
"""Variables that mean something by themselves."""

MODULE = re.compile(
    r"(?:(?<![\w-])-m[\"',\s\\]+|^[ \t]*-[ \t]+[\"']?(?=[\w.]+[\"']?[ \t]*$))(?P<name>torch\.distributed\.launch)(?![\w.-])",
    re.MULTILINE,
)
"""A module of torch's that a command runs: behind ``-m``, or alone in an item of a list in YAML."""

_PACKAGE = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)[ \t]*(?P<extras>\[[^\[\]]*\])?", re.ASCII
)

INDEX_OPTIONS = {
    "-i": "--index-url",
    "--index-url": "--index-url",
    "--default-index": "--index-url",
    "--extra-index-url": "--extra-index-url",
    "--index": "--extra-index-url",
    "--find-links": "--find-links",
    "-f": "--find-links",
    "--torch-backend": "--torch-backend",
}
"""Options of pip and uv that say where builds come from, under the name that rules ask for."""


@dataclass(slots=True)
class _Raw:
    sort: Sort
    name: str
    span: Span
    unit: Unit
    option: str = ""
    removal: Span | None = None
    style: Style = Style.PEP508
    fixed: str = ""
    marker: str = ""
    values: list[Value] | None = None
    whole: Span | None = None
    undecided: str = ""
    purpose: Purpose = Purpose.RUN
    extras: str = ""


class Reader:
    """The references of one file in the making.

    ``view`` is the text with one character for each byte, so that offsets in it are byte offsets.
    """

    def __init__(self, view: str, role: Role) -> None:
        self.view = view
        self.role = role
        self.fixed = ""
        """Why nothing that is read now may be edited; empty if it may."""
        self.purpose = Purpose.DEVELOPMENT if role is Role.TEST else Purpose.RUN
        """Who needs the requirements that are read now."""
        self.environment = Environment()
        """Where everything is installed that is read now."""
        self.units: list[Unit] = []
        self.verbs: set[int] = set()
        """Where the installations stand that were read."""
        self._variables: dict[str, dict[tuple[Span, Environment], None]] = {}
        self._raw: list[_Raw] = []
        self._taken: list[Span] = []

    def unit(self, role: Role | None = None) -> Unit:
        """A new unit."""
        unit = Unit(role or self.role, self.environment, self.fixed)
        self.units.append(unit)
        self.environment.units.append(unit)
        return unit

    def define(self, name: str, start: int, end: int) -> None:
        """Remembers that a variable has the value between two offsets."""
        span = unquoted(self.view, start, end)
        self._variables.setdefault(name, {})[span, self.environment] = None
        if name == "UV_TORCH_BACKEND":
            self.index(span, self.unit(), "--torch-backend")
        elif TELLING.fullmatch(name) and span.start < span.end:
            self._raw.append(_Raw(Sort.VARIABLE, name, span, self.unit()))

    def index(
        self,
        span: Span,
        unit: Unit,
        option: str,
        removal: Span | None = None,
        values: list[Value] | None = None,
        undecided: str = "",
    ) -> None:
        """An index URL, where ``option`` says how it is introduced."""
        self._taken.append(span)
        self._raw.append(
            _Raw(Sort.INDEX, "", span, unit, option, removal, values=values, undecided=undecided)
        )

    def simple(self, sort: Sort, name: str, span: Span, unit: Unit, **more: str) -> None:
        """A reference whose value is all of ``span``; ``written``: what stands there, where the view leaves it out."""
        raw = _Raw(sort, name, span, unit, option=more.get("option", ""), fixed=more.get("fixed", ""))
        if written := more.get("written"):
            raw.values = [Value((Piece(written, span, written),))]
        self._raw.append(raw)

    def package(
        self,
        name: str,
        specifier: Span,
        unit: Unit,
        *,
        whole: Span | None = None,
        style: Style = Style.PEP508,
        removal: Span | None = None,
        fixed: str = "",
        marker: str = "",
        extras: str = "",
        undecided: str = "",
    ) -> None:
        """A requirement whose specifier is at ``specifier``; ``whole`` also covers its name.

        conda-forge's names for torch with and without CUDA are torch's there.
        """
        if style is Style.CONDA and normalized(name) in ("pytorch-gpu", "pytorch-cpu"):
            name = "pytorch"
        self._raw.append(
            _Raw(
                Sort.REQUIREMENT,
                normalized(name),
                specifier,
                unit,
                removal=removal,
                style=style,
                fixed=fixed,
                marker=marker,
                whole=whole or specifier,
                purpose=self.purpose,
                extras=extras,
                undecided=undecided,
            )
        )

    def requirement(self, span: Span, unit: Unit, *, removal: Span | None = None, fixed: str = "") -> bool:
        """A requirement as PEP 508 writes it; False if the text at ``span`` is none."""
        view = self.view
        package = _PACKAGE.match(view, span.start, span.end)
        if package is None:
            return False
        semicolon = view.find(";", package.end(), span.end)
        end = span.end if semicolon < 0 else semicolon
        rest = stripped(view, package.end(), end)
        if view.startswith("@", rest.start, rest.end):
            self.wheel(stripped(view, rest.start + 1, rest.end), unit)
            return True
        if view.startswith("(", rest.start, rest.end):
            rest = stripped(view, rest.start + 1, rest.end - 1)
        text = view[rest.start : rest.end]
        if text and text[0] not in "=<>!~^$":
            return False
        marker = "" if semicolon < 0 else view[semicolon + 1 : span.end].strip()
        whole = Span(package.start("name"), rest.end if text else package.end())
        if not text and package["extras"] is None:
            whole = Span(*package.span("name"))
        extras = package["extras"] or ""
        self.package(
            package["name"],
            rest,
            unit,
            whole=whole,
            removal=removal,
            fixed=fixed,
            marker=marker,
            extras=extras,
        )
        return True

    def wheel(self, span: Span, unit: Unit) -> None:
        """The URL of a wheel, if it is one of torch's."""
        if INDEX_URL.fullmatch(self.view, span.start, span.end):
            self._taken.append(span)
            self._raw.append(_Raw(Sort.WHEEL, "", span, unit))

    def image(self, repository: str, tag: Span, fixed: str = "") -> None:
        """An image whose tag stands apart from its repository; nothing for one of those that nobody watches.

        What is said last of a tag holds.
        """
        watched = _REPOSITORY.search(repository)
        if watched and tag.start < tag.end:
            self._taken.append(tag)
            self._raw = [raw for raw in self._raw if raw.sort is not Sort.IMAGE or raw.span != tag]
            self._raw.append(_Raw(Sort.IMAGE, watched[0], tag, self.unit(), fixed=fixed))

    def loose(self, start: int, end: int) -> None:
        """Index URLs and images that stand in the text between two offsets and belong to no command."""
        for match in INDEX_URL.finditer(self.view, start, end):
            span = Span(*match.span())
            if not any(taken.start <= span.start < taken.end for taken in self._taken):
                if match[0].endswith(".whl"):
                    self.wheel(span, self.unit())
                else:
                    self.index(span, self.unit(), "")
        for match in LIBTORCH.finditer(self.view, start, end):
            self._taken.append(Span(*match.span()))
            self._raw.append(_Raw(Sort.WHEEL, "", Span(*match.span()), self.unit()))
        self.modules(start, end)
        for match in IMAGE.finditer(self.view, start, end):
            digest = "the image's digest is pinned" if match["digest"] else ""
            span = Span(_registry(self.view, match.start()), match.end())
            if not any(taken.start <= span.start < taken.end for taken in self._taken):
                self._taken.append(span)
                raw = _Raw(
                    Sort.IMAGE, match["repository"], Span(*match.span("tag")), self.unit(), fixed=digest
                )
                raw.whole = span
                self._raw.append(raw)

    def modules(self, start: int, end: int) -> None:
        """The modules of torch's that commands between two offsets run."""
        for match in MODULE.finditer(self.view, start, end):
            span = Span(*match.span("name"))
            if not any(taken.start <= span.start < taken.end for taken in self._taken):
                self._taken.append(span)
                self.simple(Sort.MODULE, match["name"], span, self.unit())

    @property
    def environments(self) -> list[Environment]:
        """Everything that something is installed into."""
        return list(
            {id(one): one for one in (*(u.environment for u in self.units), self.environment)}.values()
        )

    def finish(self) -> list[Reference]:
        """All references, variables resolved, in the order of the file."""
        references: list[Reference] = []
        for raw in self._raw:
            for reference in self._resolved(raw):
                references.append(reference)
                raw.unit.references.append(reference)
        references.sort(key=lambda reference: (reference.span, reference.sort.value))
        return references

    def _resolved(self, raw: _Raw) -> list[Reference]:
        lookup = partial(self._lookup, raw.unit.environment)
        found = raw.values or raw.undecided or expand(self.view, raw.span, lookup)
        undecided = ""
        if isinstance(found, str):
            undecided = found
            found = [Value.literal(self.view, raw.span)]
        made: Callable[[Value], Reference] = lambda value: Reference(  # noqa: E731
            raw.sort,
            raw.name,
            value,
            raw.whole or raw.span,
            raw.unit,
            raw.option,
            raw.removal,
            undecided,
            len(found) > 1,
            raw.style,
            raw.marker,
            raw.fixed,
            raw.purpose,
            raw.extras,
        )
        return [made(value) for value in found]

    def _lookup(self, environment: Environment, name: str) -> list[Span]:
        """The values of a variable; what an environment sets itself wins over what is set around it."""
        known = self._variables.get(name, {})
        for wanted in (environment, environment.around):
            if own := [span for span, where in known if where is wanted]:
                return own
        return [span for span, _ in known]


def _registry(view: str, start: int) -> int:
    """Where the registry begins that stands before a repository."""
    while start and (view[start - 1].isalnum() or view[start - 1] in "./:_-"):
        start -= 1
    return start
