"""Parentheses of what moves: those that it had for its old place alone stay there."""

from __future__ import annotations

import ast

import pytest

from torchmigrate.rewrite.changes import Replace, replace
from torchmigrate.text.source_text import SourceText

from .support import changed, every


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f((a if b else c).n)\n", "f(a if b else c)\n"),
        ("f((a if b else c).n).size()\n", "f(a if b else c).size()\n"),
        ("y = (a if b else c).n\n", "y = a if b else c\n"),
        ("y = (a).n\n", "y = (a)\n"),
        ("y = (a or b).n.m\n", "y = (a or b).m\n"),
        ("y = (a\n     or b).n\n", "y = (a\n     or b)\n"),
        ("y = not (a or b).n\n", "y = not (a or b)\n"),
    ],
)
def test_what_an_attribute_was_taken_of(before: str, after: str) -> None:
    def without(source: SourceText) -> Replace:
        one = next(one for one in every(source, ast.Attribute) if one.attr == "n")
        return replace(one, "{value}", value=one.value)

    assert changed(before, without) == after
