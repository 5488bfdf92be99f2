"""The trial of fixes by a command of the project: fixes that break the command are found and left out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from torchmigrate.model.findings import Finding
from torchmigrate.run.multi_file import FixResult
from torchmigrate.trials.bisection import OutOfRuns, bisect_items
from torchmigrate.trials.judging_command import CommandOutcome, JudgingCommand
from torchmigrate.trials.project_copies import copy_project
from torchmigrate.trials.reference_runs import SLOWER, ReferenceRuns, UnusableCommand

Key = tuple[str, str, tuple[str, ...], int]
"""A key for a finding in every subset of the fixes: path, code, source lines, and index among equal ones."""

Fixes = Callable[[Callable[[Finding], bool]], Sequence[FixResult]]
"""Returns each file with the fixes that a predicate selects, without writing anything."""


@dataclass(frozen=True)
class LeftOut:
    """A fix that is not applied, with the reason."""

    finding: Finding
    reason: str


@dataclass
class TrialVerdict:
    """The result of a trial."""

    fixed: Sequence[FixResult]
    """The files with the fixes that are kept; the command succeeded with exactly these."""
    left_out: list[LeftOut]
    runs: int
    """The number of runs of the command."""
    before: CommandOutcome
    after: CommandOutcome | None
    """The last outcome with kept fixes; None if no fix is kept."""
    notes: list[str]
    """Notes on the command for the user."""

    @property
    def kept(self) -> int:
        """The number of fixes that are kept."""
        return sum(len(fixed.applied) for fixed in self.fixed)


@dataclass
class Trial:
    """A command with limits on the number and duration of its runs."""

    command: JudgingCommand
    runs: int
    timeout: float
    """The time limit for each run, in seconds."""
    say: Callable[[str], None] = lambda text: None
    """Called with a description of each run."""
    _made: int = field(default=0, init=False)

    def judge_fixes(self, fixes: Fixes) -> TrialVerdict:
        """Find the fixes to leave out, so that no test fails that passes without fixes.

        The search goes by rule first, then one by one in the rules that break something. When no run is left, fixes
        that are not proved are left out. Raises UnusableCommand if the command cannot judge fixes, and OSError.
        """
        baseline = self._run_reference()
        limit = min(self.timeout, SLOWER * baseline.seconds + 60)
        changes = _FixSubsets(fixes)
        after: CommandOutcome | None = None
        objections: dict[frozenset[Key], str | None] = {}

        def find_objection(wanted: Sequence[Key]) -> str | None:
            nonlocal after
            keys = frozenset(wanted)
            if keys not in objections:
                outcome = self._run_once(changes.apply_fixes(wanted), limit, _describe_fixes(wanted))
                reason = objections[keys] = baseline.find_objection(outcome)
                if reason is None:
                    after = outcome
                else:
                    self.say(f"run {self._made}: {reason}")
            return objections[keys]

        rules = changes.keys_by_rule
        by_rule = bisect_items(
            list(rules), lambda codes: find_objection([key for code in codes for key in rules[code]])
        )
        kept = [key for code in by_rule.kept for key in rules[code]]
        why = {key: reason for code, reason in by_rule.left_out.items() for key in rules[code]}
        undecided = [key for code in by_rule.undecided for key in rules[code]]
        if len(why) > len(by_rule.left_out):
            single = bisect_items(list(why), lambda keys: find_objection([*kept, *keys]))
            kept += single.kept
            undecided += single.undecided
            why = dict(single.left_out)
        why |= dict.fromkeys(
            undecided,
            f"not verified within {self.runs} runs of the command; together with other fixes, it broke a test",
        )
        left_out = [LeftOut(changes.findings[key], why[key]) for key in changes.findings if key in why]
        return TrialVerdict(
            changes.apply_fixes(kept),
            left_out,
            self._made,
            baseline.other,
            after,
            list(baseline.iter_notes()),
        )

    def _run_reference(self) -> ReferenceRuns:
        first = self._run_once((), self.timeout, "without fixes", is_first=True)
        if first.imported:
            self.command = replace(self.command, imports=tuple(sorted(first.imported)))
            first = self._run_once((), self.timeout, "without fixes, on what it imports")
        return ReferenceRuns(first, self._run_once((), self.timeout, "without fixes, again"))

    def _run_once(
        self, fixed: Sequence[FixResult], timeout: float, about: str, *, is_first: bool = False
    ) -> CommandOutcome:
        if self._made >= self.runs:
            raise OutOfRuns
        self._made += 1
        self.say(f"run {self._made} of at most {self.runs}: {about}")
        contents = {Path(os.path.realpath(one.path)): one.after for one in fixed if one.applied}
        with copy_project(self.command.root, contents) as copy:
            outcome = self.command.run(copy, timeout)
        # PYTHONPATH now names the copy: a command that still imports from the project would judge unchanged files.
        if outcome.imported and not is_first:
            folders = ", ".join(sorted(outcome.imported))
            raise UnusableCommand(
                f"it imports from {folders} instead of the copy of the project that it should test"
            )
        return outcome


class _FixSubsets:
    """All wanted fixes, and the files with subsets of them."""

    def __init__(self, fixes: Fixes) -> None:
        self._fixes = fixes
        self.findings: dict[Key, Finding] = {}
        fixes(_FixFilter(lambda key, finding: self.findings.setdefault(key, finding) is not None))

    @property
    def keys_by_rule(self) -> dict[str, list[Key]]:
        """The keys of the fixes, by the code of their rule."""
        rules: dict[str, list[Key]] = {}
        for key in self.findings:
            rules.setdefault(key[1], []).append(key)
        return rules

    def apply_fixes(self, wanted: Sequence[Key]) -> Sequence[FixResult]:
        """Return the files with exactly the given fixes."""
        these = frozenset(wanted)
        return self._fixes(_FixFilter(lambda key, finding: key in these))


class _FixFilter:
    """A predicate that decides by a finding's key whether to apply its fix."""

    def __init__(self, decide: Callable[[Key, Finding], bool]) -> None:
        self._decide = decide
        self._seen: Counter[tuple[str, str, tuple[str, ...]]] = Counter()

    def __call__(self, finding: Finding) -> bool:
        kind = (finding.path, finding.code, tuple(line.strip() for line in finding.source_lines))
        number = self._seen[kind]
        self._seen[kind] += 1
        return self._decide((*kind, number), finding)


def _describe_fixes(wanted: Sequence[Key]) -> str:
    codes = Counter(code for _, code, _, _ in wanted)
    return "with the fixes of " + ", ".join(f"{code} ({number})" for code, number in codes.items())
