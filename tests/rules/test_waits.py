"""No finding waits for one that waits for it."""

from __future__ import annotations

import pytest

from tests.rules.cases import Case, cases
from tests.waits import find_circle
from torchmigrate.model.findings import Finding, Location, Place
from torchmigrate.model.vocabulary import Severity


@pytest.mark.parametrize("case", cases(), ids=str)
def test_no_finding_waits_for_one_that_waits_for_it(case: Case) -> None:
    assert find_circle(case.checked.findings) == []


def test_a_circle_is_found() -> None:
    there, back = _create_waiting(1, 2), _create_waiting(2, 1)
    assert find_circle([there]) == []
    assert {*find_circle([there, back])} == {Place("a.py", 1), Place("a.py", 2)}


def _create_waiting(line: int, other: int) -> Finding:
    location = Location(line, 1, line, 2)
    return Finding("TS112", "x", Severity.INFO, "a.py", location=location, waits_for=Place("a.py", other))
