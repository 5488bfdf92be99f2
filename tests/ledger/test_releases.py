"""Sets of releases."""

from __future__ import annotations

import pytest

from torchmigrate.tables.releases import ALL, RELEASES, Releases


def test_a_set_of_releases() -> None:
    some = Releases.of([(2, 8), (2, 0), (2, 1), (2, 8)])
    assert list(some) == [(2, 0), (2, 1), (2, 8)]
    assert (2, 1) in some
    assert (2, 2) not in some
    assert (1, 13) not in some
    assert str(some) == "2.0 to 2.1, 2.8"
    assert str(Releases(0)) == "none"
    assert not Releases(0)
    assert list(ALL) == list(RELEASES)


def test_sets_are_combined() -> None:
    early, late = Releases.between((2, 0), (2, 4)), Releases.between((2, 3), (2, 6))
    assert early & late == Releases.between((2, 3), (2, 4))
    assert early | late == Releases.between((2, 0), (2, 6))
    assert early - late == Releases.between((2, 0), (2, 2))


def test_a_release_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="tuple"):
        Releases.of([(1, 13)])
