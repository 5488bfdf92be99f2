"""One file: what it uses, what the rules say of it, and what their fixes make of it."""

from __future__ import annotations

import ast
import contextlib
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from torchmigrate.documents.check import References
from torchmigrate.documents.read import read
from torchmigrate.engine.context import Context
from torchmigrate.gates.kinds import is_document
from torchmigrate.gates.watch import Watch
from torchmigrate.model.faults import described, fault
from torchmigrate.model.findings import Change, Edit, FileError, FileResult, Finding, Location, NoFix, Span
from torchmigrate.model.options import Options
from torchmigrate.model.rule import Rule
from torchmigrate.model.vocabulary import Safety
from torchmigrate.project.mentions import Facts, Mention
from torchmigrate.project.project import Project
from torchmigrate.project.said import Said
from torchmigrate.rewrite.unused import unused_after
from torchmigrate.semantics.links import Links
from torchmigrate.semantics.uses import Use, Uses
from torchmigrate.text import edits
from torchmigrate.text.directives import MARK
from torchmigrate.text.edits import VerifyError
from torchmigrate.text.source import Source, SourceError

if TYPE_CHECKING:
    from torchmigrate.gates.gate import Gate
    from torchmigrate.rewrite.changes import DropImports
    from torchmigrate.rewrite.rewriter import Rewriter

MAX_ROUNDS = 10
"""Rounds of fixing after which a file that still changes is left untouched: two rules disagree."""


Moved = Callable[[bytes, list[Edit], Sequence[Finding]], None]


@dataclass(slots=True)
class Scan:
    """What one file gave: its findings, and what it tells about the project."""

    result: FileResult
    facts: Facts = field(default_factory=Facts)


@dataclass(slots=True)
class Fixed:
    """What fixing made of a file: its new content, and the findings that are gone because of it."""

    data: bytes
    applied: tuple[Finding, ...]
    result: FileResult
    """What remains."""


class Engine:
    """Applies rules to files.

    ``selects`` says whether findings with a code are wanted in a file, ``covers`` whether all are that begin so;
    ``gate`` is the one for the symbols of the rules, where there is one already; ``edits`` says whether the edits of
    fixes are wanted of a scan too.
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        options: Options,
        selects: Callable[[str, str], bool] = lambda code, path: True,
        covers: Callable[[str, str], bool] = lambda codes, path: True,
        gate: Gate | None = None,
        *,
        edits: bool = False,
    ) -> None:
        self.options = options
        self._edits = edits
        self._covers = covers
        self._selects = selects
        self._by_symbol: dict[str, list[Rule]] = {}
        self._noting: dict[str, dict[Callable[..., Any], Rule]] = {}
        rules = list(rules)
        self.references = References(rules, options, selects)
        for rule in rules:
            for symbol in rule.symbols:
                self._by_symbol.setdefault(symbol, []).append(rule)
            for symbol in rule.asks if rule.note_function is not None else ():
                self._noting.setdefault(symbol, {})[rule.note_function] = rule  # type: ignore[index]
        self.watch = Watch({symbol for rule in rules for symbol in rule.watched}, gate)
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))

    def scan(self, path: str, data: bytes, project: Project, links: Links | None = None) -> Scan:
        """Checks one file that passed gate 1. Never raises for what the file holds."""
        try:
            return self._scanned(path, data, project, links)
        except SourceError as error:
            return Scan(FileResult(path, errors=(_file_error(path, error),)))
        except RecursionError:
            return Scan(FileResult(path, errors=(FileError(path, "nested too deeply to check"),)))
        except Exception as error:
            return Scan(FileResult(path, errors=(fault(error, path),)))

    def _scanned(self, path: str, data: bytes, project: Project, links: Links | None) -> Scan:
        source, uses = self._opened(path, data, links)
        said = self._said(source, uses, project)
        result = self._suppressed(source, said)
        result = _without_changes(self._written(source, result) if self._edits else result)
        if uses is None:
            return Scan(result, Facts(mentions=tuple(said.mentions), provisional=said.asked))
        noted, faults = self._mentions(path, source, uses, project)
        result = replace(result, errors=(*result.errors, *faults))
        facts = Facts(uses.exports, frozenset(uses.unlinked), (*said.mentions, *noted), said.asked)
        uses.release()
        return Scan(result, facts)

    def fix(
        self,
        path: str,
        data: bytes,
        project: Project,
        links: Links | None,
        allows: Callable[[Finding], bool],
        wants: Callable[[Finding], bool] = lambda finding: True,
        keeps: Callable[[str], bool] = lambda name: False,
        moved: Moved = lambda text, edits, applied: None,
    ) -> Fixed:
        """Applies the fixes that ``allows`` and, asked once their edits are known, ``wants`` agree to.

        In rounds, until none is left; ``moved`` is told of each the text, its edits, and the findings that they mend.

        Imports that they leave unused go, but for names that ``keeps`` says other files import from this one.
        A fix that cannot be proved is left out, with an error in ``result``.
        """
        source, uses = self._opened(path, data, links)
        original, first = source, uses
        applied: list[Finding] = []
        unproved: dict[tuple[str, tuple[str, ...]], FileError] = {}
        said = self._said(source, uses, project)
        for _ in range(MAX_ROUNDS):
            result = self._written(source, self._suppressed(source, said), allows)
            chosen = _choose(
                result.findings,
                lambda finding: _key(finding) not in unproved and allows(finding) and wants(finding),
            )
            if not chosen:
                break
            before = source
            source, proved = self._proved(source, chosen, unproved)
            moved(before.text, _edits(proved), proved)
            applied += proved
            uses = None if uses is None else Uses(source, self.watch, links)
            said = self._said(source, uses, project)
        else:
            endless = SourceError(f"it still changes after {MAX_ROUNDS} rounds")
            return self._untouched(original, project, links, endless)
        if applied and first is not None and uses is not None:
            unused = list(unused_after(first, uses, keeps))
            source, result = self._without(unused, source, project, links, result, moved)
        result = replace(result, errors=(*result.errors, *unproved.values()))
        if self._edits:
            result = self._written(source, result)
        return Fixed(source.raw, tuple(applied), _without_changes(result))

    def _written(
        self, source: Source, result: FileResult, allows: Callable[[Finding], bool] = lambda finding: True
    ) -> FileResult:
        """The result with the edits of the fixes that ``allows`` agrees to; where there are none, the reason is said."""
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

    def _proved(
        self, source: Source, chosen: list[Finding], unproved: dict[tuple[str, tuple[str, ...]], FileError]
    ) -> tuple[Source, list[Finding]]:
        """The source with the fixes of as many findings as can be proved together.

        Fixes that only fail beside others have their turn in the next round (of two statements that make up a
        block, the second to go has to leave a ``pass``); those that fail alone are added to ``unproved``.
        """
        with contextlib.suppress(VerifyError, SourceError):
            return self._applied(source, _edits(chosen)), chosen
        result = source
        proved: list[Finding] = []
        for finding in chosen:
            try:
                alone = self._applied(source, _edits([finding]))
            except (VerifyError, SourceError) as error:
                place = _file_error(source.path, error)
                message = f"left as it was, the fix of {finding.code} cannot be proved: {error.message}"
                unproved[_key(finding)] = replace(place, message=message)
                continue
            with contextlib.suppress(VerifyError, SourceError):
                result = self._applied(source, _edits([*proved, finding])) if proved else alone
                proved.append(finding)
        return result, proved

    def _without(
        self,
        unused: list[DropImports],
        source: Source,
        project: Project,
        links: Links | None,
        result: FileResult,
        moved: Moved,
    ) -> tuple[Source, FileResult]:
        """Removes unused imports; those stay of which that cannot be proved, or that share their lines."""
        if not unused:
            return source, result
        made: list[Edit] = []
        writer = _Writer(source)
        for drop in unused:
            with contextlib.suppress(NoFix):
                made += writer.edits([drop])
        try:
            changed = self._applied(source, made)
        except (VerifyError, SourceError):
            return source, result
        moved(source.text, edits.ordered(made), [])
        source = changed
        said = self._said(source, Uses(source, self.watch, links), project)
        return source, self._suppressed(source, said)

    def _applied(self, source: Source, changes: Sequence[Edit]) -> Source:
        """The source with edits applied. Raises VerifyError or SourceError if they change more than they say."""
        content = source.replaced(changes)
        if is_document(source.path):
            from torchmigrate.documents.document import Document
            from torchmigrate.documents.verify import verify as verify_document

            document = Document.read(source.path, content)
            verify_document(Document.read(source.path, source.raw), document, changes)
            return document
        from torchmigrate.proof.verify import verify

        changed = read(source.path, content)
        verify(source, changed, changes)
        return changed

    def _opened(self, path: str, data: bytes, links: Links | None) -> tuple[Source, Uses | None]:
        """The file as a source, with its names if it is Python."""
        source = read(path, data)
        return source, None if is_document(path) else Uses(source, self.watch, links)

    def _untouched(self, source: Source, project: Project, links: Links | None, error: SourceError) -> Fixed:
        scan = self.scan(source.path, source.raw, project, links)
        failure = replace(
            _file_error(source.path, error),
            message=f"left as it was, its fixes cannot be proved: {error.message}",
        )
        return Fixed(source.raw, (), replace(scan.result, errors=(*scan.result.errors, failure)))

    def _said(self, source: Source, uses: Uses | None, project: Project) -> Said:
        """What the rules say of a file."""
        said = Said(source.path)
        if self.references.covers(source.path):
            said = self.references.said(source, project)
        if uses is not None:
            self._say_of_uses(said, source, uses, project)
        said.findings.sort(key=lambda finding: (finding.span or (), finding.code))
        return said

    def _say_of_uses(self, said: Said, source: Source, uses: Uses, project: Project) -> None:
        contexts: dict[str, Context] = {}
        for use in uses.found:
            for rule in self._by_symbol.get(use.symbol, ()):
                if use.kind not in rule.kinds or not self._selects(rule.code, source.path):
                    continue
                context = contexts.get(rule.code)
                if context is None:
                    context = contexts[rule.code] = Context(source, uses, project, self.options, rule)
                said.ask(rule.code, partial(_checked, rule, use, context), partial(_place, source, use))
        said.asked |= any(context.asked_project for context in contexts.values())

    def _mentions(
        self, path: str, source: Source, uses: Uses, project: Project
    ) -> tuple[list[Mention], list[FileError]]:
        """The symbols that a file uses, and what rules note about these uses."""
        noted: list[Mention] = []
        faults: dict[str, FileError] = {}
        for use in uses.found:
            noted.append(Mention(use.symbol, use.kind, path, use.node.lineno, _constants(use)))
            for note, rule in self._noting.get(use.symbol, {}).items():
                try:
                    names = list(note(use, Context(source, uses, project, self.options, rule)))
                except (SourceError, RecursionError):
                    raise
                except Exception as error:
                    faults.setdefault(rule.code, fault(error, path, rule.code, _place(source, use)))
                    continue
                noted += [Mention(name, use.kind, path, use.node.lineno) for name in names]
        return noted, list(faults.values())

    def _suppressed(self, source: Source, said: Said) -> FileResult:
        findings, number = said.findings, 0
        if MARK in source.text:
            from torchmigrate.engine import suppress

            found = suppress.suppressions(source, getattr(source, "comments_and_statements", None))
            findings, number = found.apply(findings, lambda codes: self._covers(codes, source.path))
        return FileResult(source.path, tuple(findings), tuple(said.faults.values()), number)


class _Writer:
    """Makes the edits of fixes in one file."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @cached_property
    def _rewriter(self) -> Rewriter:
        from torchmigrate.rewrite.rewriter import Rewriter  # libcst takes a while to import

        return Rewriter(self._source)

    def edits(self, changes: Sequence[Change | Edit]) -> tuple[Edit, ...]:
        """The edits that make the changes of one fix. Raises NoFix."""
        made = tuple(change for change in changes if isinstance(change, Edit))
        return made if len(made) == len(changes) else self._rewriter.edits(changes)

    def written(self, finding: Finding) -> Finding:
        """The finding with the edits of its fix and their places, or with the reason why there are none."""
        if finding.fix is None or finding.fix.locations:
            return finding
        try:
            edits = finding.fix.edits or self.edits(finding.fix.changes)
        except NoFix as none:
            return replace(finding, fix=None, withheld=none.reason)
        locations = tuple(self._source.location(Span(edit.start, edit.end)) for edit in edits)
        return replace(finding, fix=replace(finding.fix, edits=edits, locations=locations))


def _without_changes(result: FileResult) -> FileResult:
    """The result as plain data: what changes in nodes is known to the process that has the tree only."""
    findings = [f if f.fix is None else replace(f, fix=replace(f.fix, changes=())) for f in result.findings]
    return replace(result, findings=tuple(findings))


def _checked(rule: Rule, use: Use, context: Context) -> list[Finding]:
    if rule.check_function is None:
        return [context.finding(use)]
    return list(rule.check_function(use, context))


def _place(source: Source, use: Use) -> Location:
    return source.location(source.span(use.node))


def _constants(use: Use) -> tuple[tuple[str, object], ...]:
    if use.call is None:
        return ()
    given = [(str(i), value) for i, value in enumerate(use.call.args)]
    given += [(keyword.arg, keyword.value) for keyword in use.call.keywords if keyword.arg]
    return tuple((name, value.value) for name, value in given if isinstance(value, ast.Constant))


def _choose(findings: Iterable[Finding], wants: Callable[[Finding], bool]) -> list[Finding]:
    """The findings whose fixes go together."""
    wanted = [f for f in findings if f.fix is not None and f.fix.safety is not Safety.MANUAL and wants(f)]
    chosen, _ = edits.select(f.fix for f in wanted if f.fix is not None)
    identities = {id(fix) for fix in chosen}
    return [f for f in wanted if id(f.fix) in identities]


def _edits(findings: Iterable[Finding]) -> list[Edit]:
    return edits.union(f.fix for f in findings if f.fix is not None)


def _key(finding: Finding) -> tuple[str, tuple[str, ...]]:
    """What tells a finding from others after the file has changed around it."""
    return finding.code, finding.source_lines


def _file_error(path: str, error: SourceError | VerifyError) -> FileError:
    return FileError(path, error.message, error.line, error.column, getattr(error, "cell", None))
