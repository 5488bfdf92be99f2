"""What is left out is what breaks something, found in few tries, and what is kept was tried as it is."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchmigrate.trials.bisection import OutOfRuns, bisect_items


class Bench:
    """Items of which some break something, alone or in company, and a number of tries."""

    def __init__(self, *broken: set[int], tries: int = 1000) -> None:
        self.broken = broken
        self.left = tries
        self.passed: set[tuple[int, ...]] = {()}

    def __call__(self, items: Sequence[int]) -> str | None:
        if not self.left:
            raise OutOfRuns
        self.left -= 1
        bad = [together for together in self.broken if together <= set(items)]
        if not bad:
            self.passed.add(tuple(items))
        return f"{sorted(bad[0])} breaks it" if bad else None


@given(
    st.integers(0, 40),
    st.lists(st.sets(st.integers(0, 40), min_size=1, max_size=3), max_size=4),
    st.integers(0, 60),
)
def test_what_is_kept_holds(number: int, broken: list[set[int]], tries: int) -> None:
    bench = Bench(*broken, tries=tries)
    found = bisect_items(range(number), bench)
    assert tuple(found.kept) in bench.passed
    assert sorted([*found.kept, *found.left_out, *found.undecided]) == list(range(number))
    if bench.left:
        assert not found.undecided
        for item, reason in found.left_out.items():
            assert str(item) in reason
            assert any(item in together <= {*found.kept, item} for together in broken)


@pytest.mark.parametrize("culprit", range(16))
def test_one_of_many_is_found_in_few_tries(culprit: int) -> None:
    bench = Bench({culprit}, tries=1000)
    assert list(bisect_items(range(16), bench).left_out) == [culprit]
    assert 1000 - bench.left <= math.log2(16) + 2
