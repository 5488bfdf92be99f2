"""No finding waits for one that waits for it."""

from __future__ import annotations

import pytest

from tests.rules.cases import Case, cases
from tests.waits import find_circle, list_waits
from torchmigrate.model.findings import Place


@pytest.mark.parametrize("case", cases(), ids=str)
def test_no_finding_waits_for_one_that_waits_for_it(case: Case) -> None:
    assert find_circle(list_waits(case.checked.findings)) == []


def test_a_circle_is_found() -> None:
    first, second = Place("a.py", 1), Place("a.py", 2)
    assert find_circle([(first, second)]) == []
    assert {*find_circle([(first, second), (second, first)])} == {first, second}
