"""What a recorded run shows about findings, in words, and the warnings that no rule has foreseen."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from torchmigrate.model.findings import UNREACHED, Finding, Span
from torchmigrate.model.torch_versions import Version
from torchmigrate.model.vocabulary import Severity
from torchmigrate.record.file_evidence import FileEvidence
from torchmigrate.record.record_facts import (
    DEADLOCK_CODE,
    WARNING_CODE,
    AskedCapture,
    CollectiveCall,
    Deadlock,
    ExportProof,
    FileLoad,
    ModuleInput,
    ReadVariable,
    ScriptCall,
    ScriptUse,
    SeenWarning,
)
from torchmigrate.record.recorded_inputs import describe_inputs, describe_module_inputs
from torchmigrate.text.finding_factory import create_finding
from torchmigrate.text.source_text import SourceText

_FOREIGN = "a record that was not made here says: "
_ONE_COMMUNICATOR = (2, 15)
"""The first torch whose `nccl` groups are one communicator."""
_DEPRECATIONS = frozenset({"DeprecationWarning", "PendingDeprecationWarning", "FutureWarning"})
_ENDING = re.compile(
    r"(?i)deprecat|will be removed|(?:future|upcoming|next) (?:\w+ )?(?:release|version)|no longer supported|will be an error"
)
_NAME = re.compile(r"[A-Za-z_]\w{2,}")
_COMMON = frozenset(
    """torch and are argument arguments call called default deprecated deprecation error for from function future has
    have instead internally message module new not now pass please release removed replace set supported support switch
    that the this triggered use used using version warning warns was when will with without your cpp which optional
    """.split()  # noqa: SIM905 -- a list of words is read as one
)


class FindingEvidence:
    """The evidence for the findings of one file."""

    def __init__(self, source: SourceText, evidence: FileEvidence) -> None:
        self._source = source
        self._evidence = evidence
        self._told: set[tuple[int, SeenWarning]] = set()
        """The warnings that a finding foresees, with their lines."""

    @cached_property
    def _statements(self) -> list[tuple[int, int]]:
        """The first and last lines of each statement; of a compound one those above its block."""
        found = []
        for node in ast.walk(self._source.syntax_tree):
            if isinstance(node, ast.stmt):
                first, last = node.lineno, node.end_lineno or node.lineno
                for decorator in getattr(node, "decorator_list", ()):
                    first = min(first, decorator.lineno)
                if body := getattr(node, "body", None):
                    last = max(first, min(body[0].lineno, last) - (body[0].lineno > node.lineno))
                found.append((first, last))
        return found

    def _find_statement(self, line: int) -> tuple[int, int]:
        around = [(first, last) for first, last in self._statements if first <= line <= last]
        return min(around, key=lambda lines: lines[1] - lines[0], default=(line, line))

    def add_evidence(self, findings: Iterable[Finding]) -> list[Finding]:
        """Return the findings with what the run shows about each."""
        return [self._add_to(finding) for finding in findings]

    def _add_to(self, finding: Finding) -> Finding:
        if finding.span is None:
            return finding
        first, last = self._find_statement(self._source.line_of(finding.span.start))
        parts = list(self._describe_facts(finding, first, last))
        if not parts and self._evidence.is_unreached(first, last):
            parts = [UNREACHED]
        if not parts:
            return finding
        return finding._replace(evidence=("" if self._evidence.is_own else _FOREIGN) + "; ".join(parts))

    def _describe_facts(self, finding: Finding, first: int, last: int) -> Iterator[str]:
        names = _list_names(finding.message)
        shown = [
            (line, fact)
            for line, fact in self._evidence.find_lines(SeenWarning)
            if first <= line <= last and names & _list_names(fact.message)
        ]
        self._told.update(shown)
        if shown:
            categories = " and ".join(sorted({fact.category for _, fact in shown}))
            yield f"torch warned here {_format_times(sum(fact.times for _, fact in shown))} ({categories})"
        find = self._evidence.find_facts
        if "torch.load" in finding.message or "serialization.load" in finding.message:
            yield from describe_loads(find(FileLoad, first, last))
        if "torch.jit" in finding.message or finding.code.startswith("TS"):
            if calls := find(ScriptCall, first, last):
                yield describe_inputs(calls)
            elif uses := [one for one in find(ScriptUse, first, last) if one.maker != "derivative"]:
                yield f"ran {_format_times(sum(use.times for use in uses))}"
            if not calls and (given := find(ModuleInput, first, last)):
                yield describe_module_inputs(given)
            yield from map(_describe_proof, find(ExportProof, first, last))
        if finding.code.startswith("TC4"):
            yield from (f"in one communicator, {one.cycle}" for one in find(Deadlock, first, last)[:1])
        if finding.code.startswith("PG"):
            yield from _describe_groups(find(CollectiveCall, first, last))
        if "is_current_stream_capturing" in finding.message and (asked := find(AskedCapture, first, last)):
            yield _describe_captures(asked)
        if read := [one for one in find(ReadVariable, first, last) if one.name in finding.message]:
            yield f"the program {'reads' if read[0].use == 'read' else 'has'} `{read[0].name}`"

    def report_warnings(self, findings: Sequence[Finding]) -> Iterator[Finding]:
        """Yield a finding for each recorded warning about deprecated code that no other finding is about."""
        reported: dict[tuple[int, str, str | None], list[SeenWarning]] = {}
        for line, fact in self._evidence.find_lines(SeenWarning):
            if (line, fact) not in self._told and _is_deprecation(fact):
                reported.setdefault((line, fact.message, fact.package), []).append(fact)
        for (line, message, package), facts in sorted(reported.items(), key=lambda item: item[0][0]):
            said = message if len(message) <= 200 else f"{message[:197]}..."
            text = (
                f"{package or 'torch'} {'uses torch so that it warns' if package else 'warned here'}: {said}"
            )
            found = create_finding(
                WARNING_CODE,
                text,
                Severity.INFO if package or not self._evidence.is_own else Severity.WARNING,
                self._source,
                self._find_line_span(line),
                hint=f"update {package.split(' ')[0]}, or report this to its authors"
                if package
                else "follow the advice in the warning; no rule knows it",
            )
            told = f"seen {_format_times(sum(fact.times for fact in facts))} ({facts[0].category})"
            yield found._replace(evidence=told if self._evidence.is_own else _FOREIGN + told)

    def report_deadlocks(self, findings: Sequence[Finding], target: Version) -> Iterator[Finding]:
        """Yield a finding for each recorded operation that waits in a cycle, and that no other finding is about."""
        for line, fact in self._evidence.find_lines(Deadlock):
            first, last = self._find_statement(line)
            lines = (
                self._source.line_of(one.span.start)
                for one in findings
                if one.code.startswith("TC4") and one.span
            )
            if any(first <= one <= last for one in lines):
                continue
            hangs = "nccl" in fact.backend and target >= _ONE_COMMUNICATOR and self._evidence.is_own
            yield create_finding(
                DEADLOCK_CODE,
                f"torch 2.15 runs the operations of an `nccl` group in order, so these recorded ones would wait for each other: {fact.cycle}",
                Severity.ERROR if hangs else Severity.INFO,
                self._source,
                self._find_line_span(line),
                hint="issue them as one `batch_isend_irecv`"
                + (
                    ""
                    if "nccl" in fact.backend
                    else f"; the recorded group is `{fact.backend}`, which runs them at once"
                ),
            )

    def _find_line_span(self, line: int) -> Span:
        """Return the span of the code on a line."""
        start = self._source.line_starts[line - 1]
        text = self._source.text[slice(*self._source.full_line_span(start))]
        return Span(start + len(text) - len(text.lstrip()), start + len(text.rstrip()))


def describe_loads(loads: Sequence[FileLoad]) -> Iterator[str]:
    """Yield what the files were that a run has loaded at a place."""
    number = _format_times(sum(load.times for load in loads))
    if not loads:
        return
    needed = sorted({name for load in loads if load.weights_only == "fails" for name in load.globals})
    if all(load.weights_only == "passes" for load in loads):
        yield f"loaded {number}; `weights_only=True` loads every file"
    elif needed:
        yield f"loaded {number}; `weights_only=True` needs {', '.join(f'`{name}`' for name in needed[:5])}"
    elif any(load.weights_only == "fails" for load in loads):
        yield f"loaded {number}; `weights_only=True` rejects a file"
    else:
        yield f"loaded {number}"


def _describe_proof(proof: ExportProof) -> str:
    if proof.holds:
        inputs = f"{proof.compared} recorded input{'' if proof.compared == 1 else 's'}"
        return f"{proof.tried}s, with equal results for {inputs}"
    if not proof.decided:
        return f"it is unknown whether it {proof.tried}s: {proof.reason}"
    at = f" ({proof.refused_at.path}:{proof.refused_at.line})" if proof.refused_at is not None else ""
    return f"does not {proof.tried}: {proof.reason}{at}"


def _describe_groups(calls: Sequence[CollectiveCall]) -> Iterator[str]:
    named = [call for call in calls if call.given == "name"]
    for call in named[:3]:
        ranks = f"rank{'' if len(call.ranks) == 1 else 's'} {', '.join(map(str, call.ranks[:8]))}"
        more = ", …" if len(call.ranks) > 8 else ""
        yield f"`{call.name}` got the group `{call.group}` of {ranks}{more} by name {_format_times(call.times)}"
    if calls and not named:
        yield f"ran {_format_times(sum(call.times for call in calls))}, and never got a name"


def _describe_captures(asked: Sequence[AskedCapture]) -> str:
    during, failed = (
        sum(one.times for one in asked if one.answer == answer) for answer in ("captures", "raises")
    )
    said = f"asked {_format_times(sum(one.times for one in asked))}"
    if failed:
        return f"{said}, and raised an error {_format_times(failed)}"
    return (
        f"{said}, {_format_times(during)} during a capture" if during else f"{said}, never during a capture"
    )


def _is_deprecation(fact: SeenWarning) -> bool:
    return fact.category in _DEPRECATIONS or _ENDING.search(fact.message) is not None


def _list_names(text: str) -> frozenset[str]:
    """Return the words of a message that may name what it is about."""
    return frozenset(name.lower() for name in _NAME.findall(text)) - _COMMON


def _format_times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"
