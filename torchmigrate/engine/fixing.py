"""Fixing one file: fixes are made, verified and applied in rounds until none is left."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from torchmigrate.engine.subject import Subject
from torchmigrate.model.faults import described, fault
from torchmigrate.model.findings import Change, Edit, FileError, FileResult, Finding, Fix, NoFix, Span
from torchmigrate.model.vocabulary import Safety
from torchmigrate.text import edits
from torchmigrate.text.edits import VerifyError
from torchmigrate.text.source import Source, SourceError

if TYPE_CHECKING:
    from torchmigrate.rewrite.rewriter import Rewriter

SPARE_ROUNDS = 10
"""Rounds beyond one for each finding after which a file that still changes is left untouched: two rules disagree."""


@dataclass(slots=True)
class Fixed:
    """The outcome of fixing a file: its new content, and the findings whose fixes were applied."""

    data: bytes
    applied: tuple[Finding, ...]
    result: FileResult
    """The findings and errors that remain."""


@dataclass(frozen=True)
class Wanted:
    """The fixes to apply."""

    allows: Callable[[Finding], bool] = lambda finding: True
    """Whether a finding's fix is wanted, asked before its edits are made."""
    chooses: Callable[[Finding, bytes], bool] = lambda finding, text: True
    """Whether a fix is wanted, asked once its edits are made, with the text to edit."""
    keeps: Callable[[str], bool] = lambda name: False
    """Whether other files import a name from this one, so that its import stays."""
    moved: Callable[[bytes, Sequence[Edit], Sequence[Finding]], None] = lambda text, edits, applied: None
    """Called after each round with the text before, its edits, and the fixed findings."""


@dataclass
class Fixing:
    """The rounds of fixes over one file; ``result`` checks one state of the file, suppressions applied."""

    subject: Subject
    result: Callable[[Subject], FileResult]
    wanted: Wanted
    applied: list[Finding] = field(default_factory=list)
    unproved: dict[object, FileError] = field(default_factory=dict)

    def run(self) -> Fixed:
        """Apply the selected fixes, and remove the imports that they leave unused.

        A fix that cannot be proved is left out, with an error in the result. Raises SourceError if there is no end.
        """
        first = self.subject
        found = self.result(first)
        limit = SPARE_ROUNDS + len(found.findings)
        for _ in range(limit):
            result = with_edits(self.subject.source, found, self.wanted.allows)
            chosen = _together(finding for finding in result.findings if self._is_wanted(finding))
            if not chosen:
                break
            before, done = self.subject.source.text, len(self.applied)
            self._apply(chosen)
            self.wanted.moved(before, _edits(self.applied[done:]), self.applied[done:])
            found = self.result(self.subject)
        else:
            raise SourceError(f"it still changes after {limit} rounds of fixes")
        if self.applied and self._drop_imports(first):
            result = self.result(self.subject)
        result = replace(result, errors=(*result.errors, *self.unproved.values()))
        return Fixed(self.subject.source.raw, tuple(self.applied), result)

    def _is_wanted(self, finding: Finding) -> bool:
        return (
            finding.fix is not None
            and finding.fix.safety is not Safety.MANUAL
            and _key(finding) not in self.unproved
            and self.wanted.allows(finding)
            and self.wanted.chooses(finding, self.subject.source.original)
        )

    def _apply(self, chosen: list[Finding]) -> None:
        """Apply as many of the findings' fixes as can be verified together.

        Fixes that only fail beside others have their turn in the next round (of two statements that make up a
        block, the second to go has to leave a ``pass``); those that fail alone are unproved.
        """
        before = self.subject
        with contextlib.suppress(VerifyError, SourceError):
            self.subject = before.edited(_edits(chosen))
            self.applied += chosen
            return
        proved: list[Finding] = []
        for finding in chosen:
            try:
                alone = before.edited(_edits([finding]))
            except (VerifyError, SourceError) as error:
                self.unproved[_key(finding)] = unproved(
                    before.source.path, f"the fix of {finding.code}", error
                )
                continue
            with contextlib.suppress(VerifyError, SourceError):
                self.subject = before.edited(_edits([*proved, finding])) if proved else alone
                proved.append(finding)
        self.applied += proved

    def _drop_imports(self, first: Subject) -> bool:
        """Remove unused imports, except those that share a line or whose removal cannot be verified."""
        writer = _Writer(self.subject.source)
        made: list[Edit] = []
        for drop in self.subject.unused_imports(first, self.wanted.keeps):
            with contextlib.suppress(NoFix):
                made += writer.edits([drop])
        if made:
            before = self.subject.source.text
            with contextlib.suppress(VerifyError, SourceError):
                self.subject = self.subject.edited(made)
                self.wanted.moved(before, edits.ordered(made), [])
                return True
        return False


class _Writer:
    """Makes the edits of fixes in one file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._written: dict[int, tuple[Fix, Fix | str]] = {}

    @cached_property
    def _rewriter(self) -> Rewriter:
        from torchmigrate.rewrite.rewriter import Rewriter  # libcst takes a while to import

        return Rewriter(self._source)

    def edits(self, changes: Sequence[Change | Edit]) -> tuple[Edit, ...]:
        """Return the edits that make the changes of one fix. Raises NoFix."""
        made = tuple(change for change in changes if isinstance(change, Edit))
        return made if len(made) == len(changes) else self._rewriter.edits(changes)

    def written(self, finding: Finding) -> Finding:
        """Return the finding with the edits of its fix and their locations, or with the reason why there is no fix."""
        if finding.fix is None or finding.fix.locations:
            return finding
        # Findings that one change resolves share one fix object, so its edits are made only once.
        _, written = self._written.get(id(finding.fix)) or self._written.setdefault(
            id(finding.fix), (finding.fix, self._with_edits(finding.fix))
        )
        if isinstance(written, str):
            return replace(finding, fix=None, withheld=written)
        return replace(finding, fix=written)

    def _with_edits(self, fix: Fix) -> Fix | str:
        """Return a fix with its edits and their locations, or the reason why there is none."""
        try:
            made = fix.edits or self.edits(fix.changes)
        except NoFix as none:
            return none.reason
        locations = tuple(self._source.location(Span(edit.start, edit.end)) for edit in made)
        return replace(fix, edits=made, locations=locations)


def with_edits(
    source: Source, result: FileResult, allows: Callable[[Finding], bool] = lambda finding: True
) -> FileResult:
    """Return the result with the edits of the fixes that ``allows`` accepts, or with the reasons why there are none."""
    writer = _Writer(source)
    findings: list[Finding] = []
    faults: dict[str, FileError] = {}
    for finding in result.findings:
        if finding.fix is not None and allows(finding):
            try:
                finding = writer.written(finding)
            except RecursionError:
                finding = replace(finding, fix=None, withheld="the code is nested too deeply to rewrite")
            except Exception as error:
                faults.setdefault(finding.code, fault(error, source.path, finding.code, finding.location))
                finding = replace(finding, fix=None, withheld=described(error))
        findings.append(finding)
    return replace(result, findings=tuple(findings), errors=(*result.errors, *faults.values()))


def unproved(path: str, what: str, error: SourceError | VerifyError) -> FileError:
    """Return the error that says why a file, or a part of it, was left unchanged."""
    place = file_error(path, error)
    return replace(place, message=f"left as it was, {what} cannot be proved: {error.message}")


def file_error(path: str, error: SourceError | VerifyError) -> FileError:
    """Return an error of reading or verifying as the error of a file."""
    return FileError(path, error.message, error.line, error.column, getattr(error, "cell", None))


def _together(wanted: Iterable[Finding]) -> list[Finding]:
    """Return the findings whose fixes can be applied in one round."""
    wanted = list(wanted)
    chosen, _ = edits.select(finding.fix for finding in wanted if finding.fix is not None)
    identities = {id(fix) for fix in chosen}
    return [finding for finding in wanted if id(finding.fix) in identities]


def _edits(findings: Iterable[Finding]) -> list[Edit]:
    return edits.union(finding.fix for finding in findings if finding.fix is not None)


def _key(finding: Finding) -> object:
    """Return what identifies a finding after the file has changed around it."""
    return finding.code, finding.source_lines
