"""The run of all rules for references on one project file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
"""The prefix of a package's name in a mention, where other mentions have a symbol."""


def said(
    source: Source,
    rules: Sequence[Rule],
    options: Options,
    selects: Callable[[str, str], bool],
    project: Project,
) -> Said:
    """Return the findings of the selected rules in a project file, and the packages that it requires.

    ``selects`` tells whether a code is selected for a file. Raises SourceError if the file is malformed.
    """
    if not rules or kinds.kind_of(source.path) is None:
        return Said(source.path)
    # Imported here, since most files have no reference that a rule looks at.
    from torchmigrate.documents.context import ReferenceContext
    from torchmigrate.documents.document import references_of

    references = references_of(source)
    answer = Said(source.path, mentions=list(_mentions(source, references)))
    for rule in rules:
        if rule.check_reference_function is None or not selects(rule.code, source.path):
            continue
        context = ReferenceContext(source, references, project, options, rule)
        for reference in references:
            if reference.sort in rule.references:
                check = partial(rule.check_reference_function, reference, context)
                answer.ask(rule.code, check, partial(source.location, reference.span))
        answer.asked_project |= context.asked_project
    # A variable with several uses gets one finding: that of a use with a fix, if there is one.
    found: dict[tuple[object, ...], Finding] = {}
    for finding in answer.findings:
        key = (finding.code, finding.span)
        if key not in found or (found[key].fix is None and finding.fix is not None):
            found[key] = finding
    answer.findings = list(found.values())
    return answer


def _mentions(source: Source, references: list[Reference]) -> Iterator[Mention]:
    """Yield a mention of each package that a file requires."""
    from torchmigrate.model.vocabulary import Sort

    for reference in references:
        if reference.sort is Sort.REQUIREMENT:
            line = source.line_of(reference.span.start)
            yield Mention(f"{REQUIRES}{reference.name}", Kind.REFERENCE, source.path, line)
