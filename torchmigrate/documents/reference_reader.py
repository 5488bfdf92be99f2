"""The collector of a file's references: it notes them while the file is read, and expands their variables at the end."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import Any

from torchmigrate.documents.expanded_values import ExpandedValue, expand_variables, strip_blanks, strip_quotes
from torchmigrate.documents.reference_patterns import (
    BUILD_PAGE,
    IMAGE,
    INDEX_URL,
    LIBTORCH,
    REPOSITORY,
    TORCH_MODULE,
    WATCHED_VARIABLE,
)
from torchmigrate.documents.references import (
    Environment,
    InstallRole,
    InstallUnit,
    Reference,
    VersionStyle,
    normalize_name,
)
from torchmigrate.documents.requirement_purposes import Purpose
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort
from torchmigrate.text.source_text import SourceText

_PACKAGE = re.compile(
    r"(?P<name>[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)[ \t]*(?P<extras>\[[^\[\]]*\])?", re.ASCII
)


class ReferenceReader:
    """Collects the references of one file.

    ``view`` is the text with one character for each byte, so that offsets in it are byte offsets.
    """

    def __init__(self, view: str, role: InstallRole, source: SourceText) -> None:
        self.view = view
        self.source = source
        self.role = role
        self.fixed = ""
        """The reason why nothing that is read now may be edited; empty if there is none."""
        self.purpose = Purpose.DEVELOPMENT if role is InstallRole.TEST else Purpose.RUN
        """The purpose of the requirements that are read now."""
        self.environment = Environment()
        """The environment of everything that is read now."""
        self.units: list[InstallUnit] = []
        self.verbs: set[int] = set()
        """The offsets of the verbs (``install``) of all commands that were read."""
        self._variables: dict[str, dict[tuple[Span, Environment], None]] = {}
        self._conditional: dict[Span, str] = {}
        """Values that are set in one branch of several, with the reason why they may not be edited."""
        self._drafts: list[tuple[Reference, Span, list[ExpandedValue] | None]] = []
        """References whose variables are not expanded yet, each with the place of its value, or the value itself."""
        self._taken: list[Span] = []

    def begin_unit(self, role: InstallRole | None = None) -> InstallUnit:
        """Begin a new unit in the current environment."""
        unit = InstallUnit(role or self.role, self.environment, self.fixed)
        self.units.append(unit)
        self.environment.units.append(unit)
        return unit

    def define_variable(self, name: str, start: int, end: int, *, watched: bool = True) -> None:
        """Note that a variable has the value between two offsets; ``watched`` if it may be one of torch's environment variables."""
        span = strip_quotes(self.view, start, end)
        self._variables.setdefault(name, {})[span, self.environment] = None
        if self.fixed:
            self._conditional[span] = self.fixed
        if not watched:
            return
        if name == "UV_TORCH_BACKEND":
            self.add_index(span, self.begin_unit(), "--torch-backend")
        elif WATCHED_VARIABLE.fullmatch(name) and span.start < span.end:
            self.add_reference(Sort.VARIABLE, name, span, self.begin_unit())

    def add_reference(
        self,
        sort: Sort,
        name: str,
        written: Span,
        unit: InstallUnit,
        *,
        whole: Span | None = None,
        values: list[ExpandedValue] | None = None,
        **facts: Any,
    ) -> None:
        """Note a reference whose value is ``written``; ``whole`` is the span of the reference where that is more.

        ``values`` are its values where the text at ``written`` does not give them, ``facts`` other fields of `Reference`.
        """
        value = ExpandedValue.from_literal(self.view, written)
        draft = Reference(sort, name, value, whole or written, unit, **facts)
        self._drafts.append((draft, written, values))

    def add_index(self, span: Span, unit: InstallUnit, option: str, **facts: Any) -> None:
        """Note an index URL and the option that introduces it."""
        self._taken.append(span)
        sort = Sort.WHEEL if BUILD_PAGE.fullmatch(self.view, *span) else Sort.INDEX
        self.add_reference(sort, "", span, unit, option=option, **facts)

    def add_package(self, name: str, specifier: Span, unit: InstallUnit, **facts: Any) -> None:
        """Note a requirement whose version specifier is at ``specifier``."""
        # conda-forge has a package for torch with CUDA, and one for torch without.
        if facts.get("style") is VersionStyle.CONDA and normalize_name(name) in (
            "pytorch-gpu",
            "pytorch-cpu",
        ):
            name = "pytorch"
        normal = normalize_name(name)
        spelling = name if name != normal else ""
        self.add_reference(
            Sort.REQUIREMENT, normal, specifier, unit, purpose=self.purpose, spelling=spelling, **facts
        )

    def add_requirement(self, span: Span, unit: InstallUnit, **facts: Any) -> bool:
        """Note the PEP 508 requirement at ``span``; return False if the text there is none."""
        view = self.view
        package = _PACKAGE.match(view, span.start, span.end)
        if package is None:
            return False
        semicolon = view.find(";", package.end(), span.end)
        end = span.end if semicolon < 0 else semicolon
        rest = strip_blanks(view, package.end(), end)
        if view.startswith("@", rest.start, rest.end):
            self.add_wheel(strip_blanks(view, rest.start + 1, rest.end), unit)
            return True
        if view.startswith("(", rest.start, rest.end):
            rest = strip_blanks(view, rest.start + 1, rest.end - 1)
        text = view[rest.start : rest.end]
        if text and text[0] not in "=<>!~^$":
            return False
        whole = Span(package.start("name"), rest.end if text else package.end())
        if not text and package["extras"] is None:
            whole = Span(*package.span("name"))
        facts["marker"] = "" if semicolon < 0 else view[semicolon + 1 : span.end].strip()
        self.add_package(package["name"], rest, unit, whole=whole, extras=package["extras"] or "", **facts)
        return True

    def add_wheel(self, span: Span, unit: InstallUnit) -> None:
        """Note the URL of a wheel if it is one of torch's."""
        if INDEX_URL.fullmatch(self.view, span.start, span.end):
            self._taken.append(span)
            self.add_reference(Sort.WHEEL, "", span, unit)

    def add_index_or_wheel(self, url: Span, unit: InstallUnit, option: str) -> None:
        """Note the URL of a wheel, or an index URL and the option that introduces it."""
        if self.view.endswith(".whl", url.start, url.end):
            self.add_wheel(url, unit)
        else:
            self.add_index(url, unit, option)

    def add_image(self, repository: str, tag: Span, fixed: str = "") -> None:
        """Note an image whose tag is written apart from its repository, in the place of an earlier one with this tag."""
        watched = REPOSITORY.search(repository)
        if watched and tag.start < tag.end:
            self._taken.append(tag)
            self._drafts = [one for one in self._drafts if one[0].sort is not Sort.IMAGE or one[1] != tag]
            self.add_reference(Sort.IMAGE, watched[0], tag, self.begin_unit(), fixed=fixed)

    def read_loose_text(self, start: int, end: int) -> None:
        """Note index URLs, archives, modules and images between two offsets that belong to no command."""
        for match in INDEX_URL.finditer(self.view, start, end):
            span = Span(*match.span())
            if self._claim_span(span):
                self.add_index_or_wheel(span, self.begin_unit(), "")
        for pattern in (LIBTORCH, BUILD_PAGE):
            for match in pattern.finditer(self.view, start, end):
                span = Span(*match.span())
                if self._claim_span(span):
                    self.add_reference(Sort.WHEEL, "", span, self.begin_unit())
        self.read_modules(start, end)
        for match in IMAGE.finditer(self.view, start, end):
            first = match.start()
            while first and (self.view[first - 1].isalnum() or self.view[first - 1] in "./:_-"):
                first -= 1  # the registry before the repository belongs to the image
            span = Span(first, match.end())
            if self._claim_span(span):
                digest = "the image's digest is pinned" if match["digest"] else ""
                tag = Span(*match.span("tag"))
                self.add_reference(
                    Sort.IMAGE, match["repository"], tag, self.begin_unit(), whole=span, fixed=digest
                )

    def read_modules(self, start: int, end: int) -> None:
        """Note the modules of torch's that the commands between two offsets run."""
        for match in TORCH_MODULE.finditer(self.view, start, end):
            span = Span(*match.span("name"))
            if self._claim_span(span):
                self.add_reference(Sort.MODULE, match["name"], span, self.begin_unit())

    def _claim_span(self, span: Span) -> bool:
        """Claim a span for a reference; return False where it begins in that of another one."""
        if any(taken.start <= span.start < taken.end for taken in self._taken):
            return False
        self._taken.append(span)
        return True

    def note_malformed_lines(self, numbers: list[int]) -> None:
        """Note the lines, counted from 0, that are left out because they are not understood: nothing around them may change."""
        lines = re.split(r"\r\n|\r|\n", self.view) if numbers else []
        for number in numbers:
            for environment in self.environments:
                environment.unread = environment.unread or lines[number].strip()[:60]

    @property
    def environments(self) -> list[Environment]:
        """All environments of the file, in the order of their units."""
        return list(dict.fromkeys([*(unit.environment for unit in self.units), self.environment]))

    def finish_references(self) -> list[Reference]:
        """Return all references in the order of the file, their variables expanded."""
        references = [one for draft in self._drafts for one in self._expand_draft(*draft)]
        for reference in references:
            reference.unit.references.append(reference)
        references.sort(key=lambda reference: (reference.span, reference.sort.value))
        return references

    def _expand_draft(
        self, draft: Reference, written: Span, values: list[ExpandedValue] | None
    ) -> list[Reference]:
        """Return a reference for each value that a draft may have."""
        lookup = partial(self._find_variable_spans, draft.unit.environment)
        found = values or draft.undecided or expand_variables(self.view, written, lookup)
        if isinstance(found, str):
            return [replace(draft, undecided=found, fixed=draft.fixed or self._explain_fixed(draft.value))]
        several = len(found) > 1
        return [
            replace(draft, value=value, several=several, fixed=draft.fixed or self._explain_fixed(value))
            for value in found
        ]

    def _explain_fixed(self, value: ExpandedValue) -> str:
        """Return why a value may not be edited because a part of it is set in a branch; empty if it may."""
        for span, why in self._conditional.items():
            if any(span.start <= piece.span.start < span.end for piece in value.pieces):
                return why
        return ""

    @property
    def definitions(self) -> dict[Span, str]:
        """The variables that the file sets, by the spans of their values."""
        return {span: name for name, spans in self._variables.items() for span, _ in spans}

    def _find_variable_spans(self, environment: Environment, name: str) -> list[Span]:
        """Return the values of a variable; those that an environment sets win over those set around it."""
        known = self._variables.get(name, {})
        for wanted in (environment, environment.around):
            if own := [span for span, where in known if where is wanted]:
                return own
        return [span for span, _ in known]
