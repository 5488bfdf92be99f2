"""The statements that an edit can have an effect on."""

from __future__ import annotations

import pytest

from torchmigrate.model.findings import Edit
from torchmigrate.proof.windows import EditWindow, find_windows
from torchmigrate.text.source_reader import read_source
from torchmigrate.text.source_text import SourceText
from torchmigrate.text.text_edits import VerifyError


def made(text: str, *replacements: tuple[str, str]) -> list[EditWindow]:
    """The windows for replacements of parts of the text, each of which it has once."""
    before = read_source("a.py", text.encode())
    edits = sorted(Edit(text.index(old), text.index(old) + len(old), new) for old, new in replacements)
    return find_windows(before, read_source("a.py", before.apply_edits(edits)), edits)


def texts(found: list[EditWindow]) -> list[tuple[str, str]]:
    """What each window has before and after."""
    return [(window.before.text.decode(), window.after.text.decode()) for window in found]


def test_an_edit_concerns_the_statement_around_it() -> None:
    (window,) = made("a = 1\nb = old\nc = 3\n", ("old", "fresh"))
    assert texts([window]) == [("b = old\n", "b = fresh\n")]
    assert window.first_line == 2
    assert window.edits == (Edit(4, 7, "fresh"),)


def test_gaps_around_a_statement_belong_to_it() -> None:
    assert texts(made("a = 1\n# why\n\nb = old\n# end\n", ("old", "2"))) == [
        ("# why\n\nb = old\n# end\n", "# why\n\nb = 2\n# end\n")
    ]


def test_edits_far_apart_have_windows_of_their_own_and_neighbours_share_one() -> None:
    text = "a = old1\nb = 0\nc = old2\nd = old3\n"
    found = made(text, ("old1", "1"), ("old2", "22"), ("old3", "3"))
    assert texts(found) == [("a = old1\n", "a = 1\n"), ("c = old2\nd = old3\n", "c = 22\nd = 3\n")]
    assert [window.first_line for window in found] == [1, 3]
    assert found[1].edits == (Edit(4, 8, "22"), Edit(13, 17, "3"))


def test_statements_on_one_line_go_together() -> None:
    assert texts(made("a = 0\nb = 1; c = old\n", ("old", "2"))) == [("b = 1; c = old\n", "b = 1; c = 2\n")]


def test_a_decorator_belongs_to_its_definition() -> None:
    text = "a = 0\n@\\\nold\ndef f(): ...\nb = 1\n"
    assert texts(made(text, ("old", "new"))) == [("@\\\nold\ndef f(): ...\n", "@\\\nnew\ndef f(): ...\n")]


def test_an_insertion_between_statements_concerns_the_one_before() -> None:
    text = "a = 0\nb = 1\n\nc = 2\nd = 3\n"
    before = read_source("a.py", text.encode())
    edits = [Edit(12, 12, "e = 4\n")]
    found = find_windows(before, read_source("a.py", before.apply_edits(edits)), edits)
    assert texts(found) == [("b = 1\n\n", "b = 1\ne = 4\n\n")]


def test_without_edits_everything_is_one_window() -> None:
    assert texts(made("a = 0\nb = 1\n")) == [("a = 0\nb = 1\n",) * 2]


def test_a_notebook_is_one_window() -> None:
    cell = '{"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": null, "source": ["%s"]}'
    text = f'{{"cells": [{cell % "a = 0"}, {cell % "b = old"}], "metadata": {{}}, "nbformat": 4, "nbformat_minor": 5}}'
    before = read_source("a.ipynb", text.encode())
    assert type(before) is not SourceText
    at = before.text.index(b"old")
    (window,) = find_windows(before, before, [Edit(at, at + 3, "new")])
    assert window.before is before


def test_a_statement_outside_that_is_another_one_is_refused() -> None:
    before = read_source("a.py", b"a = 1\nb = 2\nc = 3\n")
    after = read_source("a.py", b"a = 9\nb = 2\nc: 3\n")
    with pytest.raises(VerifyError, match="where another statement begins or ends"):
        find_windows(before, after, [Edit(4, 5, "9")])
