"""The outcomes of a command without fixes, with which its outcomes with fixes are compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from torchmigrate.trials.command import Outcome

SLOWER = 5
"""A run with fixes may take this many times as long as one without, plus a minute."""


class Unusable(Exception):
    """Raised if the command cannot judge fixes, with the reason."""


@dataclass(frozen=True)
class Baseline:
    """Two runs without fixes. Raises Unusable if they cannot serve for comparison."""

    one: Outcome
    other: Outcome

    def __post_init__(self) -> None:
        for outcome in (self.one, self.other):
            if outcome.timed_out or (outcome.status and not outcome.failures):
                raise Unusable(f"it {outcome.says}, without any fix")
            if outcome.failures and outcome.passed == 0:
                test, message = next(iter(outcome.failures.items()))
                raise Unusable(
                    f"no test passes without any fix; {test} fails" + (f": {message}" if message else "")
                )
        if self.one.status != self.other.status and self.one.failures == self.other.failures:
            raise Unusable(f"two runs without any fix differ: it {self.one.says}; then it {self.other.says}")

    @property
    def seconds(self) -> float:
        """The duration of the slower run, in seconds."""
        return max(self.one.seconds, self.other.seconds)

    def notes(self) -> Iterator[str]:
        """Yield notes about the tests that cannot judge fixes."""
        failing = self.one.failures.keys() & self.other.failures.keys()
        flaky = self.one.failures.keys() ^ self.other.failures.keys()
        if failing:
            yield f"{_tests(failing)} without any fix, and cannot judge fixes"
        if flaky:
            yield f"{_tests(flaky)} only sometimes without any fix, and cannot judge fixes"

    def objection(self, outcome: Outcome) -> str | None:
        """Return what is worse in a run with fixes, or None."""
        if outcome.timed_out:
            return f"the command {outcome.says}; without fixes it takes {self.seconds:.0f} s"
        new = outcome.failures.keys() - self.one.failures.keys() - self.other.failures.keys()
        if new:
            first = min(new, key=list(outcome.failures).index)
            message = outcome.failures[first]
            others = f" (and {len(new) - 1} more)" if len(new) > 1 else ""
            return f"{first} fails{others}" + (f": {message}" if message else "")
        if outcome.status not in (0, self.one.status, self.other.status):
            return f"the command {outcome.says}"
        known = [run.passed for run in (self.one, self.other) if run.passed is not None]
        if known and (outcome.passed or 0) < min(known):
            return f"only {outcome.passed or 0} of {min(known)} tests pass"
        return None


def _tests(names: set[str]) -> str:
    shown = sorted(names)[:3]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return f"{', '.join(shown)}{more} {'fails' if len(names) == 1 else 'fail'}"
