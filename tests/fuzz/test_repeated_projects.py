"""Projects of any shape: several copies of some fixtures, of which twice as many take about twice the work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import strategies as st

from tests.counted_work import measure_growth
from tests.fuzz.conftest import Fuzz
from tests.rules.cases import Case, cases

MOST_FILES = 12
"""The number of files of a fixture above which it is left out: it would take too long."""

MOST = 2.6
"""How many times the work may be: files of one name are compared with each other."""

CASES = sorted((case for case in cases() if len(case.files) <= MOST_FILES), key=str)


def copy_fixtures(chosen: Sequence[Case], number: int) -> Mapping[str, bytes]:
    """Copies of fixtures, each in a folder of its own."""
    return {
        f"/p/{place}/{copy}/{path.relative_to(case.path) if case.path.is_dir() else path.name}": path.read_bytes()
        for copy in range(number)
        for place, case in enumerate(chosen)
        for path in case.files
    }


@pytest.mark.parametrize("fix", [False, True], ids=["check", "fix"])
def test_work_grows_with_the_copies(fuzz: Fuzz, fix: bool) -> None:
    def check(chosen: Sequence[Case]) -> None:
        growth = measure_growth(
            lambda number: copy_fixtures(chosen, number),
            6,
            fix=fix,
            may_fail=True,
            flags=["--unsafe", "--target-version", "2.15"],
        )
        assert growth < MOST, [str(case) for case in chosen]

    fuzz.run(3, check, st.lists(st.sampled_from(CASES), min_size=2, max_size=4, unique_by=str))
