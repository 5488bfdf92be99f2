"""Statements that become one, and what was said about each."""

from __future__ import annotations

import ast

import pytest

from torchmigrate.rewrite.changes import Insert, Merge, Remove, Template, template
from torchmigrate.text.source_text import SourceText

from .support import changed, every

LOOSE = """
if x:
    a = send(1)  # one
    # between
    b = 2
    # the second,
    # which receives
    c = receive(3)  # three
    last()
"""


def merged(source: SourceText) -> Merge:
    calls = [call for call in every(source, ast.Call) if call.args]
    parts = {f"part{i}": template("Op({value})", value=call.args[0]) for i, call in enumerate(calls)}
    lines = "".join(f"    {{{name}}},\n" for name in parts)
    parents = {call: one for one in every(source, ast.Assign) for call in ast.walk(one)}
    return Merge(tuple(parents[call] for call in calls), Template(f"all = batch([\n{lines}])", parts))


def test_comments_go_to_the_elements() -> None:
    assert (
        changed(LOOSE, merged)
        == """
if x:
    # between
    b = 2
    all = batch([
        Op(1),  # one
        # the second,
        # which receives
        Op(3),  # three
    ])
    last()
"""
    )


def test_what_stands_above_the_first_stays_above() -> None:
    text = "# all\n\n# first\na = send(1)\nb = send(2)\n"
    assert changed(text, merged) == "# all\n\n# first\nall = batch([\n    Op(1),\n    Op(2),\n])\n"


def test_a_comment_inside_stays_beside() -> None:
    text = "a = send(\n    1,  # one\n)\nb = send(2)\n"
    assert changed(text, merged) == "# one\nall = batch([\n    Op(1),\n    Op(2),\n])\n"


def test_statements_of_a_line_that_has_others_do_not_merge() -> None:
    from torchmigrate.model.findings import NoFix

    with pytest.raises(NoFix, match="shares its line"):
        changed("a = send(1)\nb = send(2); x = 3\n", merged)


def test_what_is_removed_inside_of_a_larger_change_leaves_its_comments_once() -> None:
    text = "if x:\n    a = 1\n    # lead\n    b = 2  # trail\n    c = 3\n"

    def both(source: SourceText) -> tuple[Remove, Insert]:
        (outer,) = every(source, ast.If)
        return Remove(outer.body[1]), Insert(outer, template("e = 1"))

    assert changed(text, both) == "e = 1\nif x:\n    a = 1\n    # lead\n    # trail\n    c = 3\n"
