"""How many examples the fuzz tests try, and which."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import seed as seeded
from hypothesis.strategies import SearchStrategy

from tests.fuzz.harness import objects_uncounted

USUAL = 926
"""What the shares of all tests add up to."""


@dataclass(frozen=True)
class Fuzz:
    """Tries a test on examples: always the same ones, or others with each ``seed``."""

    scale: float
    seed: int | None

    def run(self, share: int, test: Callable[..., None], *strategies: SearchStrategy[object]) -> None:
        """Calls ``test`` with values of the strategies, ``share`` times in a usual run."""
        chosen = settings(
            max_examples=max(1, round(share * self.scale)),
            derandomize=self.seed is None,
            database=None,
            deadline=None,
            print_blob=False,
            suppress_health_check=list(HealthCheck),
        )
        wrapped = chosen(given(*strategies)(test))
        (wrapped if self.seed is None else seeded(self.seed)(wrapped))()


@pytest.fixture
def fuzz(request: pytest.FixtureRequest) -> Iterator[Fuzz]:
    """Tries tests on examples."""
    examples: int | None = request.config.getoption("--fuzz-examples")
    seed: int | None = request.config.getoption("--fuzz-seed")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)  # as the tool does; hypothesis warns of a test that changes it
    with objects_uncounted():
        yield Fuzz(1.0 if examples is None else examples / USUAL, seed)
    sys.setrecursionlimit(limit)
