"""A circle of findings that wait for each other is found."""

from __future__ import annotations

from tests.waits import find_circle
from torchmigrate.model.findings import Place


def test_a_circle_is_found() -> None:
    first, second = Place("a.py", 1), Place("a.py", 2)
    assert find_circle([(first, second)]) == []
    assert {*find_circle([(first, second), (second, first)])} == {first, second}
