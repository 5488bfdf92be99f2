"""Sets of releases."""

from __future__ import annotations

import pytest

from torchmigrate.tables.release_sets import ALL_RELEASES, RELEASES, ReleaseSet


def test_a_set_of_releases() -> None:
    some = ReleaseSet.from_versions([(2, 8), (2, 0), (2, 1), (2, 8)])
    assert list(some) == [(2, 0), (2, 1), (2, 8)]
    assert (2, 1) in some
    assert (2, 2) not in some
    assert (1, 13) not in some
    assert str(some) == "2.0 to 2.1, 2.8"
    assert str(ReleaseSet(0)) == "none"
    assert not ReleaseSet(0)
    assert list(ALL_RELEASES) == list(RELEASES)


def test_sets_are_combined() -> None:
    early, late = ReleaseSet.from_range((2, 0), (2, 4)), ReleaseSet.from_range((2, 3), (2, 6))
    assert early & late == ReleaseSet.from_range((2, 3), (2, 4))
    assert early | late == ReleaseSet.from_range((2, 0), (2, 6))
    assert early - late == ReleaseSet.from_range((2, 0), (2, 2))


def test_a_release_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="tuple"):
        ReleaseSet.from_versions([(1, 13)])
