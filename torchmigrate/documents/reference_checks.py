"""The run of all rules for references on one project file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from torchmigrate.model.findings import Finding
from torchmigrate.model.rule import Rule
from torchmigrate.model.torch_versions import OLDEST
from torchmigrate.model.vocabulary import Kind
from torchmigrate.prefilter import project_file_kinds
from torchmigrate.project.mentions import Mention
from torchmigrate.project.project_facts import Project
from torchmigrate.project.rule_results import RuleResults

if TYPE_CHECKING:
    from torchmigrate.documents.references import Reference
    from torchmigrate.model.rule_options import RuleOptions
    from torchmigrate.text.source_text import SourceText

REQUIREMENT_PREFIX = "requirement:"
"""The prefix that marks the symbol of a mention as the name of a package."""


def check_references(
    source: SourceText,
    rules: Sequence[Rule],
    options: RuleOptions,
    selects: Callable[[str, str], bool],
    project: Project,
) -> RuleResults:
    """Return the findings of the selected rules in a project file, and the packages that it requires.

    ``selects`` tells whether a code is selected for a file. Raises SourceError if the file is malformed.
    """
    known = project_file_kinds.kind_of(source.path) or (
        source.path.endswith(".py") and project_file_kinds.installs_torch(source.original)
    )
    if not rules or not known:
        return RuleResults(source.path)
    # Imported here, since most files have no reference that a rule looks at.
    from torchmigrate.documents.project_documents import read_references
    from torchmigrate.documents.reference_context import ReferenceContext

    references = read_references(source)
    # What moves depends on none of these: what is known of one move holds for folders where they are others.
    options = replace(options, minimum=OLDEST, declared=OLDEST, line_length=None)
    answer = RuleResults(source.path, mentions=list(_find_mentions(source, references)))
    for rule in rules:
        if rule.check_reference_function is None or not selects(rule.code, source.path):
            continue
        context = ReferenceContext(source, references, project, options, rule)
        for reference in references:
            if reference.sort in rule.references:
                check = partial(rule.check_reference_function, reference, context)
                answer.run_check(rule.code, check, partial(source.locate_span, reference.span))
        answer.asked_project |= context.asked_project
    # A variable with several uses gets one finding: that of a use with a fix, if there is one. So do the entries of a lock
    # file, one for each platform, that have the same version.
    is_lock = project_file_kinds.kind_of(source.path) == "lock"
    found: dict[tuple[object, ...], Finding] = {}
    for finding in answer.findings:
        key = (finding.code, finding.message if is_lock else finding.span)
        if key not in found or (found[key].fix is None and finding.fix is not None):
            found[key] = finding
    answer.findings = list(found.values())
    return answer


def _find_mentions(source: SourceText, references: list[Reference]) -> Iterator[Mention]:
    """Yield a mention of each package that a file requires."""
    from torchmigrate.model.vocabulary import Sort

    for reference in references:
        if reference.sort is Sort.REQUIREMENT:
            line = source.line_of(reference.span.start)
            yield Mention(f"{REQUIREMENT_PREFIX}{reference.name}", Kind.REFERENCE, source.path, line)
