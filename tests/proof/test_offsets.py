"""Where offsets lie after edits, and which places an offset beside an edit may have."""

from __future__ import annotations

import pytest

from torchmigrate.model.findings import Edit, Span
from torchmigrate.proof.offset_map import OffsetMap, is_touching

TEXT = b"a = f(  b) + c\n"
#        0   4 6 8  10 13


def places(shift: OffsetMap, old: int) -> list[int]:
    """Every place that the offset may have afterwards."""
    return [new for new in range(40) if shift.is_possible_offset(old, new)]


def test_what_lies_behind_an_edit_moves_with_it() -> None:
    shift = OffsetMap(TEXT, [Edit(4, 6, "longer("), Edit(13, 14, "")])
    assert shift.map_span(Span(0, 1)) == (0, 1)
    assert shift.map_span(Span(8, 9)) == (13, 14)
    assert shift.new == [(4, 11), (18, 18)]


def test_an_insertion_lies_before_what_begins_there_and_behind_what_ends_there() -> None:
    shift = OffsetMap(b"ab", [Edit(1, 1, "xyz")])
    assert shift.map_span(Span(0, 1)) == (0, 1)
    assert shift.map_span(Span(1, 2)) == (4, 5)


def test_replacements_that_touch_are_one_and_an_insertion_of_nothing_is_none() -> None:
    shift = OffsetMap(b"abcdef", [Edit(0, 2, "x"), Edit(2, 4, "yz"), Edit(5, 5, "")])
    assert (shift.old, shift.new) == ([(0, 4)], [(0, 3)])


def test_line_ends_count_as_they_are_written() -> None:
    assert OffsetMap(b"a\r\nb\r\n", [Edit(0, 1, "x\ny")]).new == [(0, 4)]


def test_away_from_edits_only_the_shifted_place_fits() -> None:
    shift = OffsetMap(TEXT, [Edit(4, 6, "longer(")])
    assert places(shift, 0) == [0]
    assert places(shift, 9) == [14]


def test_in_an_edit_and_at_its_edges_any_place_in_its_text_fits() -> None:
    shift = OffsetMap(TEXT, [Edit(12, 14, "+d")])
    assert places(shift, 12) == places(shift, 13) == places(shift, 14) == [12, 13, 14]


@pytest.mark.parametrize(
    ("text", "most"),
    [
        (b"f(b", 0),
        (b"f( b", 1),
        (b"f(\t b", 2),
        (b"f(\n b", 2),
        (b"f( \n b", 3),
        (b"f((b", 1),
        (b"f( ( (b", 4),
        (b"f((\n b", 3),
        (b"f((# c\n b", 6),
        (b"f([b", 0),
        (b"f()b", 0),
        (b"f(# c\n b", 5),
        (b"f(\\\n b", 3),
    ],
)
def test_blanks_and_parentheses_that_open_behind_an_edit_mean_nothing(text: bytes, most: int) -> None:
    shift = OffsetMap(text, [Edit(0, 2, "")])
    assert places(shift, 0) == places(shift, 2) == list(range(most + 1))


def test_blanks_before_an_edit_are_not_left_behind_it() -> None:
    assert places(OffsetMap(b"a  = b", [Edit(3, 4, "")]), 3) == [3, 4]


def test_of_several_edits_at_one_place_the_blanks_behind_the_last_one_count() -> None:
    shift = OffsetMap(b"ab  c", [Edit(1, 1, "x"), Edit(1, 2, "yz")])
    assert places(shift, 1) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("edit", "expected"), [((2, 2), False), ((3, 3), True), ((0, 2), False), ((0, 3), True), ((5, 6), False)]
)
def test_an_edit_at_the_edge_does_not_touch(edit: tuple[int, int], expected: bool) -> None:
    assert is_touching(Span(*edit), Span(2, 5)) is expected


def test_one_edit_has_to_cover_all_of_a_span() -> None:
    shift = OffsetMap(TEXT, [Edit(0, 1, ""), Edit(2, 3, "x"), Edit(4, 8, "y")])
    assert shift.is_covered(Span(4, 8))
    assert shift.is_covered(Span(5, 6))
    assert not shift.is_covered(Span(2, 4))
    assert not shift.is_covered(Span(0, 8))
    assert not shift.is_covered(None)
