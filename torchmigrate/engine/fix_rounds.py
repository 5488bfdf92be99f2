"""Fixing one file: fixes are made, verified and applied in rounds until none is left."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from torchmigrate.engine.checked_file import CheckedFile
from torchmigrate.model.findings import Edit, FileError, FileResult, Finding, Fix, FixChange, NoFix, Span
from torchmigrate.model.tool_faults import create_fault_error, describe_fault
from torchmigrate.model.vocabulary import Safety
from torchmigrate.text import text_edits
from torchmigrate.text.source_text import SourceError, SourceText
from torchmigrate.text.text_edits import VerifyError

if TYPE_CHECKING:
    from torchmigrate.rewrite.rewriter import Rewriter

SPARE_ROUNDS = 10
"""Rounds beyond one for each finding after which a file that still changes is left untouched: two rules disagree."""


@dataclass(slots=True)
class FixedFile:
    """The outcome of fixing a file: its new content, and the findings whose fixes were applied."""

    data: bytes
    applied: tuple[Finding, ...]
    result: FileResult
    """The findings and errors that remain."""


@dataclass(frozen=True)
class FixSelection:
    """The fixes to apply."""

    allows: Callable[[Finding], bool] = lambda finding: True
    """Whether a finding's fix is wanted, asked before its edits are made."""
    chooses: Callable[[Finding, bytes], bool] = lambda finding, text: True
    """Whether a fix is wanted, asked once its edits are made, with the text to edit."""
    keeps: Callable[[str, bool], bool] = lambda name, with_stars: False
    """Whether other files import a name from this one, so that its import stays."""
    moved: Callable[[bytes, Sequence[Edit], Sequence[Finding]], None] = lambda text, edits, applied: None
    """Called after each round with the text before, its edits, and the fixed findings."""


@dataclass
class FixRounds:
    """The rounds of fixes over one file; ``result`` checks one state of the file, suppressions applied."""

    subject: CheckedFile
    result: Callable[[CheckedFile], FileResult]
    wanted: FixSelection
    applied: list[Finding] = field(default_factory=list)
    unproved: dict[object, FileError] = field(default_factory=dict)

    def run_rounds(self) -> FixedFile:
        """Apply the selected fixes, and remove the imports that they leave unused.

        A fix that cannot be proved is left out, with an error in the result. Raises SourceError if there is no end.
        """
        first = self.subject
        found = self.result(first)
        limit = SPARE_ROUNDS + len(found.findings)
        for _ in range(limit):
            result = add_edits_to_result(self.subject.source, found, self.wanted.allows)
            chosen = _select_compatible(
                finding
                for finding in result.findings
                if (
                    finding.fix is not None
                    and finding.fix.safety is not Safety.MANUAL
                    and _finding_key(finding) not in self.unproved
                    and self.wanted.allows(finding)
                    and self.wanted.chooses(finding, self.subject.source.original)
                )
            )
            if not chosen:
                break
            before, done = self.subject.source.text, len(self.applied)
            self._apply_fixes(chosen)
            self.wanted.moved(before, _edits_of(self.applied[done:]), self.applied[done:])
            found = self.result(self.subject)
        else:
            raise SourceError(f"the file still changes after {limit} rounds of fixes")
        if self.applied and self._drop_imports(first):
            result = self.result(self.subject)
        result = result._replace(errors=(*result.errors, *self.unproved.values()))
        return FixedFile(self.subject.source.raw, tuple(self.applied), result)

    def _apply_fixes(self, chosen: list[Finding]) -> None:
        """Apply as many of the findings' fixes as can be verified together.

        Fixes that only fail beside others have their turn in the next round (of two statements that make up a
        block, the second to go has to leave a ``pass``); those that fail alone are unproved.
        """
        before = self.subject
        with contextlib.suppress(VerifyError, SourceError):
            self.subject = before.apply_edits(_edits_of(chosen))
            self.applied += chosen
            return
        proved: list[Finding] = []
        for finding in chosen:
            try:
                alone = before.apply_edits(_edits_of([finding]))
            except (VerifyError, SourceError) as error:
                self.unproved[_finding_key(finding)] = create_proof_error(
                    before.source.path, f"the fix of {finding.code}", error
                )
                continue
            with contextlib.suppress(VerifyError, SourceError):
                self.subject = before.apply_edits(_edits_of([*proved, finding])) if proved else alone
                proved.append(finding)
        self.applied += proved

    def _drop_imports(self, first: CheckedFile) -> bool:
        """Remove unused imports, except those that share a line or whose removal cannot be verified."""
        writer = _EditWriter(self.subject.source)
        made: list[Edit] = []
        for drop in self.subject.find_unused_imports(first, self.wanted.keeps):
            with contextlib.suppress(NoFix):
                made += writer.make_edits([drop])
        if made:
            before = self.subject.source.text
            with contextlib.suppress(VerifyError, SourceError):
                self.subject = self.subject.apply_edits(made)
                self.wanted.moved(before, text_edits.sort_edits(made), [])
                return True
        return False


class _EditWriter:
    """Makes the edits of fixes in one file."""

    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._written: dict[int, tuple[Fix, Fix | str]] = {}

    @cached_property
    def _open_rewriter(self) -> Rewriter:
        from torchmigrate.rewrite.rewriter import Rewriter  # libcst takes a while to import

        return Rewriter(self._source)

    def make_edits(self, changes: Sequence[FixChange | Edit]) -> tuple[Edit, ...]:
        """Return the edits that make the changes of one fix. Raises NoFix."""
        made = tuple(change for change in changes if isinstance(change, Edit))
        return made if len(made) == len(changes) else self._open_rewriter.build_edits(changes)

    def add_edits(self, finding: Finding) -> Finding:
        """Return the finding with the edits of its fix and their locations, or with the reason why there is no fix."""
        if finding.fix is None or finding.fix.locations:
            return finding
        # Findings that one change resolves share one fix object, so its edits are made only once.
        _, written = self._written.get(id(finding.fix)) or self._written.setdefault(
            id(finding.fix), (finding.fix, self._add_edits_to_fix(finding.fix))
        )
        if isinstance(written, str):
            return finding._replace(fix=None, withheld=written)
        return finding._replace(fix=written)

    def _add_edits_to_fix(self, fix: Fix) -> Fix | str:
        """Return a fix with its edits and their locations, or the reason why there is none."""
        try:
            made = fix.edits or self.make_edits(fix.changes)
        except NoFix as none:
            return none.reason
        locations = tuple(self._source.locate_span(Span(edit.start, edit.end)) for edit in made)
        return replace(fix, edits=made, locations=locations)


def add_edits_to_result(
    source: SourceText, result: FileResult, allows: Callable[[Finding], bool] = lambda finding: True
) -> FileResult:
    """Return the result with the edits of the fixes that ``allows`` accepts, or with the reasons why there are none."""
    writer = _EditWriter(source)
    findings: list[Finding] = []
    faults: dict[str, FileError] = {}
    for finding in result.findings:
        if finding.fix is not None and allows(finding):
            try:
                finding = writer.add_edits(finding)
            except RecursionError:
                finding = finding._replace(fix=None, withheld="the code is nested too deeply to rewrite")
            except MemoryError:
                raise
            except Exception as error:
                faults.setdefault(
                    finding.code, create_fault_error(error, source.path, finding.code, finding.location)
                )
                finding = finding._replace(fix=None, withheld=describe_fault(error))
        findings.append(finding)
    return result._replace(findings=tuple(findings), errors=(*result.errors, *faults.values()))


def create_proof_error(path: str, what: str, error: SourceError | VerifyError) -> FileError:
    """Return the error that says why a file, or a part of it, was left unchanged."""
    place = create_file_error(path, error)
    return place._replace(message=f"left as it was, {what} cannot be proved: {error.message}")


def create_file_error(path: str, error: SourceError | VerifyError) -> FileError:
    """Return an error of reading or verifying as the error of a file."""
    return FileError(path, error.message, error.line, error.column, getattr(error, "cell", None))


def _select_compatible(wanted: Iterable[Finding]) -> list[Finding]:
    """Return the findings whose fixes can be applied in one round."""
    wanted = list(wanted)
    chosen, _ = text_edits.select_compatible(finding.fix for finding in wanted if finding.fix is not None)
    identities = {id(fix) for fix in chosen}
    return [finding for finding in wanted if id(finding.fix) in identities]


def _edits_of(findings: Iterable[Finding]) -> list[Edit]:
    return text_edits.merge_fix_edits(finding.fix for finding in findings if finding.fix is not None)


def _finding_key(finding: Finding) -> object:
    """Return a key that identifies a finding even after the file has changed around it."""
    return finding.code, finding.source_lines
