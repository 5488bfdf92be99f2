"""The engine: applies the rules of a run to one file at a time."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field

from torchmigrate.engine.checked_file import CheckedFile
from torchmigrate.engine.file_limits import LimitExceeded, create_limit_error, limit_file
from torchmigrate.engine.fix_rounds import (
    FixedFile,
    FixRounds,
    FixSelection,
    add_edits_to_result,
    create_file_error,
    create_proof_error,
)
from torchmigrate.engine.python_module import PythonModule
from torchmigrate.engine.rule_set import RuleSet
from torchmigrate.model.findings import Edit, FileError, FileResult, Finding
from torchmigrate.model.rule_options import RuleOptions
from torchmigrate.model.tool_faults import create_fault_error
from torchmigrate.prefilter.foreign_languages import language_of
from torchmigrate.prefilter.project_file_kinds import is_document
from torchmigrate.project.expected_project import ExpectedProject
from torchmigrate.project.mentions import FileFacts
from torchmigrate.project.project_facts import Project
from torchmigrate.project.rule_results import RuleResults
from torchmigrate.rewrite.changes import get_subject
from torchmigrate.semantics.module_links import ModuleLinks
from torchmigrate.text.source_reader import read_source
from torchmigrate.text.source_text import SourceError, SourceText
from torchmigrate.text.suppression_syntax import MARK

_MAX_KEPT_BYTES = 1 << 19
"""The most bytes of modules that are kept parsed; their trees take up forty times as much."""


@dataclass(slots=True)
class FileScan:
    """The findings of one file, and the facts that it contributes to the project."""

    result: FileResult
    facts: FileFacts = field(default_factory=FileFacts)


class Engine:
    """Applies rules to files; with ``edits``, a scan makes the edits of fixes too."""

    def __init__(self, rules: RuleSet, *, edits: bool = False) -> None:
        self.rules = rules
        self._edits = edits
        self._read: dict[str, SourceText] = {}
        """Parsed modules that are kept to be checked again once all facts are known, up to `_MAX_KEPT_BYTES`."""
        self._bytes_left = _MAX_KEPT_BYTES
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))

    def open_file(self, path: str, data: bytes, project: Project, links: ModuleLinks | None) -> CheckedFile:
        """Return the parsed file. Raises SourceError if it cannot be read."""
        if is_document(path):
            from torchmigrate.documents.project_documents import ProjectDocument
            from torchmigrate.engine.project_file import ProjectFile

            return ProjectFile(ProjectDocument.decode_source(path, data), self.rules, project)
        if language_of(path) is not None:
            from torchmigrate.engine.foreign_file import ForeignFile
            from torchmigrate.foreign.foreign_source import ForeignSource

            source = ForeignSource.decode_source(path, data)
            source.links = links
            return ForeignFile(source, self.rules, project)
        return PythonModule(self._read_module(path, data), self.rules, project, links)

    def _read_module(self, path: str, data: bytes) -> SourceText:
        source = self._read.pop(path, None)
        if source is not None:
            self._bytes_left += len(source.raw)
        return source if source is not None and source.raw == data else read_source(path, data)

    def _keep_source(self, source: SourceText) -> None:
        if len(source.raw) <= self._bytes_left:
            self._bytes_left -= len(source.raw)
            self._read[source.path] = source

    def scan_file(
        self, path: str, data: bytes, project: Project, links: ModuleLinks | None = None
    ) -> FileScan:
        """Check one file that passed the prefilter. Never raises because of the file's content."""
        try:
            with limit_file():
                return self._scan_opened(path, data, project, links)
        except LimitExceeded as exceeded:
            return FileScan(FileResult(path, errors=(create_limit_error(path, "checked", exceeded),)))
        except SourceError as error:
            return FileScan(FileResult(path, errors=(create_file_error(path, error),)))
        except RecursionError:
            return FileScan(FileResult(path, errors=(FileError(path, "nested too deeply to check"),)))
        except Exception as error:
            return FileScan(FileResult(path, errors=(create_fault_error(error, path),)))

    def _scan_opened(self, path: str, data: bytes, project: Project, links: ModuleLinks | None) -> FileScan:
        expected = None if project.is_complete else project.expected
        if isinstance(expected, ExpectedProject):
            expected.begin_file()
        subject = self.open_file(path, data, project, links)
        said = subject.run_rules()
        facts = subject.collect_facts(said)
        facts.searches = project.list_searches()
        if isinstance(expected, ExpectedProject):
            expected.note_assumptions(facts)
        result = self._collect_result(subject, said)
        result = add_edits_to_result(subject.source, result) if self._edits else result
        subject.release_memory()
        asked = facts.provisional or facts.assumed
        if asked and not project.is_complete and isinstance(subject, PythonModule):
            self._keep_source(subject.source)
        return FileScan(result, facts)

    def evaluate_under(
        self, subject: CheckedFile, options: RuleOptions, *, edits: bool = False
    ) -> FileResult:
        """Return the findings for an opened file under other ``options``. Raises SourceError if it is malformed."""
        other = subject.with_rules(self.rules.with_options(options))
        result = self._collect_result(other, other.run_rules())
        return add_edits_to_result(subject.source, result) if edits else result

    def fix_file(
        self, path: str, data: bytes, project: Project, links: ModuleLinks | None, wanted: FixSelection
    ) -> FixedFile:
        """Return the file with its fixes applied; see `FixRounds`. Raises SourceError if it cannot be read."""
        subject = self.open_file(path, data, project, links)
        fixing = FixRounds(subject, lambda state: self._collect_result(state, state.run_rules()), wanted)
        try:
            with limit_file():
                fixed = fixing.run_rounds()
        except LimitExceeded as exceeded:
            result = self.scan_file(path, data, project, links).result
            left = create_limit_error(path, "fixed", exceeded)
            return FixedFile(data, (), result._replace(errors=(*result.errors, left)))
        except SourceError as error:
            result = self.scan_file(path, data, project, links).result
            left = create_proof_error(path, "its fixes", error)
            return FixedFile(data, (), result._replace(errors=(*result.errors, left)))
        if self._edits:
            fixed.result = add_edits_to_result(fixing.subject.source, fixed.result)
        return fixed

    def _collect_result(self, subject: CheckedFile, said: RuleResults) -> FileResult:
        """Return the findings ordered by position, without suppressed ones, and with the faults of rules."""
        source, number = subject.source, 0
        findings = sorted(said.findings, key=lambda found: ((found.span or (), found.code)))
        if MARK in source.text:
            from torchmigrate.engine import suppressions

            found = suppressions.parse_suppressions(
                source, getattr(source, "find_comments_and_statements", None)
            )
            every = findings
            findings, number = found.filter_findings(
                findings, lambda codes: self.rules.covers(codes, source.path), self.rules.options.target
            )
            findings = _withhold_suppressed_fixes(every, findings) if number else findings
        merged = subject.merge_findings(findings)
        return FileResult(source.path, tuple(merged), tuple(said.faults.values()), number)


def _withhold_suppressed_fixes(every: Iterable[Finding], kept: Iterable[Finding]) -> list[Finding]:
    """Return the kept findings, without fixes that they share with a suppressed one."""
    kept = list(kept)
    ids = {id(finding) for finding in kept}
    suppressed = {key for one in every if id(one) not in ids and (key := _identify_fix(one)) is not None}
    withheld = "a comment suppresses another part of this fix; change both by hand, or remove the comment"
    return [
        finding._replace(fix=None, withheld=withheld) if _identify_fix(finding) in suppressed else finding
        for finding in kept
    ]


def _identify_fix(finding: Finding) -> object:
    """Return a value that is the same for all findings that one fix settles; None for a finding without a fix."""
    fix = finding.fix
    if fix is None or fix.joint is not None:
        return fix and fix.joint
    return frozenset(
        one if isinstance(one, Edit) else (type(one), id(get_subject(one))) for one in fix.changes
    )
