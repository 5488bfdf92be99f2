"""The engine: applies the rules of a run to one file at a time."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from torchmigrate.engine.fixing import Fixed, Fixing, Wanted, file_error, unproved, with_edits
from torchmigrate.engine.module import Module
from torchmigrate.engine.ruleset import RuleSet
from torchmigrate.engine.subject import Subject
from torchmigrate.gates.kinds import is_document
from torchmigrate.gates.languages import language_of
from torchmigrate.model.faults import fault
from torchmigrate.model.findings import FileError, FileResult, Finding
from torchmigrate.model.options import Options
from torchmigrate.project.expected import Expected
from torchmigrate.project.mentions import Facts
from torchmigrate.project.project import Project
from torchmigrate.project.said import Said
from torchmigrate.semantics.links import Links
from torchmigrate.text.directives import MARK
from torchmigrate.text.read import read
from torchmigrate.text.source import Source, SourceError

_ROOM = 1 << 19
"""Bytes of the modules that are kept; their trees take up forty times as much."""


@dataclass(slots=True)
class Scan:
    """The findings of one file, and the facts that it contributes to the project."""

    result: FileResult
    facts: Facts = field(default_factory=Facts)


class Engine:
    """Applies rules to files; with ``edits``, a scan makes the edits of fixes too."""

    def __init__(self, rules: RuleSet, *, edits: bool = False) -> None:
        self.rules = rules
        self._edits = edits
        self._read: dict[str, Source] = {}
        """Modules that are looked at again once their project is known, as far as there is room for their trees."""
        self._room = _ROOM
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))

    def open(self, path: str, data: bytes, project: Project, links: Links | None) -> Subject:
        """Return the parsed file. Raises SourceError if it cannot be read."""
        if is_document(path):
            from torchmigrate.documents.document import Document
            from torchmigrate.engine.project_file import ProjectFile

            return ProjectFile(Document.read(path, data), self.rules, project)
        if language_of(path) is not None:
            from torchmigrate.engine.foreign_file import ForeignFile
            from torchmigrate.foreign.source import ForeignSource

            source = ForeignSource.read(path, data)
            source.links = links
            return ForeignFile(source, self.rules, project)
        return Module(self._module(path, data), self.rules, project, links)

    def _module(self, path: str, data: bytes) -> Source:
        source = self._read.pop(path, None)
        if source is not None:
            self._room += len(source.raw)
        return source if source is not None and source.raw == data else read(path, data)

    def _keep(self, source: Source) -> None:
        if len(source.raw) <= self._room:
            self._room -= len(source.raw)
            self._read[source.path] = source

    def scan(self, path: str, data: bytes, project: Project, links: Links | None = None) -> Scan:
        """Check one file that passed the prefilter. Never raises because of the file's content."""
        try:
            return self._scanned(path, data, project, links)
        except SourceError as error:
            return Scan(FileResult(path, errors=(file_error(path, error),)))
        except RecursionError:
            return Scan(FileResult(path, errors=(FileError(path, "nested too deeply to check"),)))
        except Exception as error:
            return Scan(FileResult(path, errors=(fault(error, path),)))

    def _scanned(self, path: str, data: bytes, project: Project, links: Links | None) -> Scan:
        expected = None if project.is_complete else project.expected
        if isinstance(expected, Expected):
            expected.begin()
        subject = self.open(path, data, project, links)
        said = subject.said()
        facts = subject.facts(said)
        if isinstance(expected, Expected):
            expected.note(facts)
        result = self._result(subject, said)
        result = with_edits(subject.source, result) if self._edits else result
        subject.release()
        asked = facts.provisional or facts.assumed
        if asked and not project.is_complete and isinstance(subject, Module):
            self._keep(subject.source)
        return Scan(result, facts)

    def judged(self, subject: Subject, options: Options, *, edits: bool = False) -> FileResult:
        """Return the findings for an opened file under other ``options``. Raises SourceError if it is malformed."""
        other = subject.under(self.rules.under(options))
        result = self._result(other, other.said())
        return with_edits(subject.source, result) if edits else result

    def fix(self, path: str, data: bytes, project: Project, links: Links | None, wanted: Wanted) -> Fixed:
        """Return the file with its fixes applied; see `Fixing`. Raises SourceError if it cannot be read."""
        subject = self.open(path, data, project, links)
        fixing = Fixing(subject, lambda state: self._result(state, state.said()), wanted)
        try:
            fixed = fixing.run()
        except SourceError as error:
            result = self.scan(path, data, project, links).result
            left = unproved(path, "its fixes", error)
            return Fixed(data, (), replace(result, errors=(*result.errors, left)))
        if self._edits:
            fixed.result = with_edits(fixing.subject.source, fixed.result)
        return fixed

    def _result(self, subject: Subject, said: Said) -> FileResult:
        """Return the findings ordered by position, without suppressed ones, and with the faults of rules."""
        source, number = subject.source, 0
        findings = sorted(said.findings, key=lambda found: ((found.span or (), found.code)))
        if MARK in source.text:
            from torchmigrate.engine import suppress

            found = suppress.suppressions(source, getattr(source, "comments_and_statements", None))
            every = findings
            findings, number = found.apply(
                findings, lambda codes: self.rules.covers(codes, source.path), self.rules.options.target
            )
            findings = [_heeding(every, findings, one) for one in findings] if number else findings
        return FileResult(source.path, tuple(findings), tuple(said.faults.values()), number)


def _heeding(every: Sequence[Finding], kept: Sequence[Finding], finding: Finding) -> Finding:
    """Return the finding, without its part of a multi-file fix if another finding of that part is suppressed."""
    joint = finding.fix.joint if finding.fix is not None else None
    if joint is None or all(one in kept for one in every if one.fix is not None and one.fix.joint == joint):
        return finding
    return replace(finding, fix=None, withheld="a comment suppresses another part of this fix")
