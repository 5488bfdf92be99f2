"""The outcomes of a command without fixes, with which its outcomes with fixes are compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torchmigrate.trials.judging_command import CommandOutcome

SLOWER = 5
"""A run with fixes may take this many times as long as one without, plus a minute."""


class UnusableCommand(Exception):
    """Raised if the command cannot judge fixes, with the reason."""


@dataclass(frozen=True)
class ReferenceRuns:
    """Two runs without fixes. Raises UnusableCommand if they cannot serve for comparison."""

    one: CommandOutcome
    other: CommandOutcome

    def __post_init__(self) -> None:
        for outcome in (self.one, self.other):
            if outcome.timed_out or (outcome.status and not outcome.failures):
                raise UnusableCommand(f"without fixes, it {outcome.description}")
            if outcome.failures and outcome.passed == 0:
                test, message = next(iter(outcome.failures.items()))
                raise UnusableCommand(
                    f"no test passes even without fixes; {test} fails" + (f": {message}" if message else "")
                )
        if self.one.status != self.other.status and self.one.failures == self.other.failures:
            raise UnusableCommand(
                f"two runs without fixes differ: the command {self.one.description}, then {self.other.description}"
            )

    @property
    def seconds(self) -> float:
        """The duration of the slower run, in seconds."""
        return max(self.one.seconds, self.other.seconds)

    def iter_notes(self) -> Iterator[str]:
        """Yield notes about the tests that cannot judge fixes."""
        failing = self.one.failures.keys() & self.other.failures.keys()
        flaky = self.one.failures.keys() ^ self.other.failures.keys()
        if failing:
            yield f"{_describe_tests(failing)} even without fixes, and cannot judge them"
        if flaky:
            yield f"{_describe_tests(flaky)} only sometimes without fixes, and cannot judge them"

    def find_objection(self, outcome: CommandOutcome) -> str | None:
        """Return what is worse in a run with fixes, or None."""
        if outcome.timed_out:
            return f"the command {outcome.description}; without fixes it takes {self.seconds:.0f} s"
        new = outcome.failures.keys() - self.one.failures.keys() - self.other.failures.keys()
        if new:
            first = min(new, key=list(outcome.failures).index)
            message = outcome.failures[first]
            others = f" (and {len(new) - 1} more)" if len(new) > 1 else ""
            return f"{first} fails{others}" + (f": {message}" if message else "")
        if outcome.status not in (0, self.one.status, self.other.status):
            return f"the command {outcome.description}"
        known = [run.passed for run in (self.one, self.other) if run.passed is not None]
        if known and (outcome.passed or 0) < min(known):
            return f"only {outcome.passed or 0} of {min(known)} tests pass"
        return None


def _describe_tests(names: set[str]) -> str:
    shown = sorted(names)[:3]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return f"{', '.join(shown)}{more} {'fails' if len(names) == 1 else 'fail'}"
