"""Applies the rules for references to a project file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from torchmigrate.gates import kinds
from torchmigrate.model.findings import Finding
from torchmigrate.model.rule import Rule
from torchmigrate.model.vocabulary import Kind
from torchmigrate.project.mentions import Mention
from torchmigrate.project.project import Project
from torchmigrate.project.said import Said

if TYPE_CHECKING:
    from torchmigrate.documents.references import Reference
    from torchmigrate.model.options import Options
    from torchmigrate.text.source import Source

REQUIRES = "requirement:"
"""What a mention of a package in a project file begins with, in the place of a symbol's name."""


class References:
    """The rules that look at references, by what they look at; ``selects`` as in `Engine`."""

    def __init__(self, rules: Iterable[Rule], options: Options, selects: Callable[[str, str], bool]) -> None:
        self._rules = [rule for rule in rules if rule.references]
        self._options = options
        self._selects = selects

    def covers(self, path: str) -> bool:
        """Whether the file is a project file that a rule wants to see."""
        return bool(self._rules) and kinds.kind_of(path) is not None

    def said(self, source: Source, project: Project) -> Said:
        """What the rules say of the file, and what the file tells about the project.

        Raises SourceError if the file is malformed.
        """
        from torchmigrate.documents.context import ReferenceContext

        references = references_of(source)
        said = Said(source.path, mentions=list(_mentions(source, references)))
        for rule in self._rules:
            if rule.check_reference_function is None or not self._selects(rule.code, source.path):
                continue
            context = ReferenceContext(source, references, project, self._options, rule)
            for reference in references:
                if reference.sort in rule.references:
                    said.ask(
                        rule.code,
                        partial(rule.check_reference_function, reference, context),
                        partial(source.location, reference.span),
                    )
            said.asked |= context.asked_project
        # What a variable gives to several places is one thing; the place that can be mended speaks.
        found: dict[tuple[object, ...], Finding] = {}
        for finding in said.findings:
            key = (finding.code, finding.span)
            if key not in found or (found[key].fix is None and finding.fix is not None):
                found[key] = finding
        said.findings = list(found.values())
        return said


def references_of(source: Source) -> list[Reference]:
    """What a project file states. Raises SourceError if it is malformed."""
    from torchmigrate.documents.document import Document, read_references

    if isinstance(source, Document):
        return source.references
    return read_references(source.path, source.text.decode("latin-1"), source)


def _mentions(source: Source, references: list[Reference]) -> Iterator[Mention]:
    from torchmigrate.model.vocabulary import Sort

    for reference in references:
        if reference.sort is Sort.REQUIREMENT:
            line = source.line_of(reference.span.start)
            yield Mention(f"{REQUIRES}{reference.name}", Kind.REFERENCE, source.path, line)
