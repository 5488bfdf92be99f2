"""Trees before and after edits: how an edit may change the enclosing node, and where all other nodes have to be."""

from __future__ import annotations

import pytest

from torchmigrate.model.findings import Edit
from torchmigrate.proof.offset_map import OffsetMap
from torchmigrate.proof.tree_comparison import TreeComparison
from torchmigrate.text.source_reader import read_source


def difference(text: str, *replacements: tuple[int, str, str]) -> str | None:
    """What differs around replacements (offset, old, new); each old text has to stand at or behind its offset."""
    edits = []
    for least, old, new in replacements:
        at = text.index(old, least)
        edits.append(Edit(at, at + len(old), new))
    before = read_source("a.py", text.encode())
    after = read_source("a.py", before.apply_edits(edits))
    node = TreeComparison(before, after, OffsetMap(before.text, edits)).find_difference()
    return None if node is None else type(node).__name__


@pytest.mark.parametrize(
    ("text", "replacements"),
    [
        ("x = old(a)\n", [(0, "old", "new")]),
        (
            "x = old(a) * c\n",
            [
                (0, "old(", "("),
            ],
        ),
        ("x = old(a, b)\n", [(0, ", b", "")]),
        ("a\nb\nc\n", [(0, "b\n", "")]),
        ("with a, b:\n    f()\n", [(0, "a, ", "")]),
        ("@old\ndef f(): ...\n", [(0, "@old\n", "")]),
        ("class C(Old):\n    x = 1\n", [(0, "(Old)", "")]),
        ("f(x)\n", [(2, "", "a=")]),
        ("f(x, y + 1, k=z)\n", [(2, "", "a="), (5, "", "b = ")]),
        ("f(x, (y), k=z)\n", [(5, "", "b=")]),
        ("x: int = f.g(a)\n", [(9, "", "b if c else ")]),
        ('def f():\n    """text"""\n    return old(x)\n', [(0, "old", "new")]),
        ('def f():\n    """text"""\n    a\n    b\n', [(0, "    a\n", "")]),
    ],
)
def test_what_an_edit_covers_may_change(text: str, replacements: list[tuple[int, str, str]]) -> None:
    assert difference(text, *replacements) is None


@pytest.mark.parametrize(
    ("text", "replacements", "node"),
    [
        ("x = old(a + b) * c\n", [(0, "old(", ""), (13, ")", "")], "Call"),
        ("if a:\n    b\nc\n", [(11, "\n", "\n    ")], "Module"),
        ("x = f(a)\n", [(0, "(a", "(a, b")], None),
        ("x = f(a) + 1\n", [(4, "", "b if c else ")], "BinOp"),
        ("x = f(a, c)\n", [(0, "a", "a, b")], "Call"),
        ("f(x)\n", [(2, "", "**")], "Call"),
        ("class C(x): ...\n", [(8, "", "a=")], "ClassDef"),
        ('x = 1\n"""text"""\n', [(0, "x = 1\n", "")], "Module"),
    ],
)
def test_what_lies_around_an_edit_must_not(
    text: str, replacements: list[tuple[int, str, str]], node: str | None
) -> None:
    assert difference(text, *replacements) == node


NOTED, NAMED = " = note(int,", " = note(int, "


@pytest.mark.parametrize(
    "text",
    [
        "x = note(int, a)\n",
        "x = note(int, \t a)\n",
        "x = note(int, a )\n",
        "x = note(int, (a))\n",
        "x = note(int, ((a) ))\n",
        "x = note(int, (\n    a\n))\n",
        "x = note(int, (a) + b)\n",
        "x = note(int, a + b)\n",
    ],
)
def test_blanks_between_an_edit_and_a_part_mean_nothing(text: str) -> None:
    assert difference(text, (1, NOTED, ": int ="), (text.rindex(")"), ")", "")) is None


@pytest.mark.parametrize(
    "text",
    [
        "x = note(int, f\n    .g)\n",
        "x = note(int, f\n    .g )\n",
        "x = note(int, f\n    .g\n)\n",
        "x = note(int, f  # why\n.g)\n",
    ],
)
def test_a_parenthesis_that_closes_behind_a_part_is_none_of_it(text: str) -> None:
    assert difference(text, (1, NAMED, ": int = (")) is None


@pytest.mark.parametrize("value", ["a + b", "(a) + b", "a + (b)", "a + b ", "a\n + b"])
def test_a_part_that_comes_apart_is_refused_whatever_stands_around_it(value: str) -> None:
    text = f"x = note(int, {value})\n"
    assert difference(text, (1, NAMED, ": int = (c * ")) is not None
    assert difference(text, (1, NOTED, ": int = (c *")) is not None
    assert difference(text, (1, NAMED, ": int = c * (")) is None


@pytest.mark.parametrize("behind", ["(d)", ".d", "[d]"])
def test_a_part_that_takes_in_what_stands_behind_it_is_refused(behind: str) -> None:
    text = f"x = note(int, a + b){behind}\n"
    end = text.index(")")
    assert difference(text, (1, NAMED, ": int = "), (end, ")", "")) is not None
    assert difference(text, (1, NAMED, ": int = (")) is None


@pytest.mark.parametrize(
    ("text", "replacements"),
    [
        ("x = note((a if b else c\n).d).e\n", [(0, "note(", ""), (20, ".d)", "")]),
        ("x = note((a  # b\n).c).d\n", [(0, "note(", ""), (14, ".c)", "")]),
        ("x = note(# a\n(# b\n c + d))\n", [(0, "note", ""), (0, "(# a\n", ""), (20, "d))", "d)")]),
        ("x[wait(fork(f, a\n)\n)]\n", [(0, "wait(fork(", ""), (12, ", ", "("), (16, "\n)\n", "")]),
    ],
)
def test_comments_and_blanks_beside_parentheses_mean_nothing(
    text: str, replacements: list[tuple[int, str, str]]
) -> None:
    assert difference(text, *replacements) is None


@pytest.mark.parametrize(
    ("text", "replacements"),
    [
        ("f(g(a), b)\n", [(0, ")", ""), (8, "b", "b)")]),
        ("f(g(a)  # b\n, c)\n", [(0, ")", ""), (13, "c", "c)")]),
        ("f(g(a + b) * c)\n", [(0, "g(", ""), (6, ")", "")]),
        ("f((a + b  # c\n) * d)\n", [(0, "(a", "a"), (13, ")", "")]),
    ],
)
def test_a_parenthesis_that_goes_to_another_place_is_refused(
    text: str, replacements: list[tuple[int, str, str]]
) -> None:
    assert difference(text, *replacements) is not None
