"""Templates inside of templates, and texts inside of literals."""

from __future__ import annotations

import ast

import pytest

from torchmigrate.rewrite.changes import Replace, ReplaceStatement, Reword, replace, template
from torchmigrate.text.source_text import SourceText

from .support import changed, every


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f('g(str a, str b)')\n", "f('g(str a, Any c)')\n"),
        ("f('g(str a, '  # a\n  r'str b)')\n", "f('g(str a, '  # a\n  r'Any c)')\n"),
    ],
)
def test_a_text_inside_a_literal_changes(before: str, after: str) -> None:
    def reword(source: SourceText) -> Reword:
        return Reword(next(one for one in every(source, ast.Constant)), "str b", "Any c")

    assert changed(before, reword) == after


def test_templates_nest() -> None:
    def wrap(source: SourceText) -> Replace:
        (one,) = every(source, ast.Call)
        inner = template("g({x}, y)", x=one.args[0])
        return replace(one, "{listed}", listed=template("[{all}]", all=[inner, template("1 + 2")]))

    assert changed("f(a  or b)\n", wrap) == "[g(a  or b, y), 1 + 2]\n"


@pytest.mark.parametrize("unit", ["  ", "    ", "\t"])
def test_new_blocks_are_indented_as_those_of_the_file(unit: str) -> None:
    def looped(source: SourceText) -> ReplaceStatement:
        return ReplaceStatement(every(source, ast.Expr)[0], template("for x in y:\n    if x:\n        x()"))

    before = f"class C:\n{unit}@a\n{unit}def f(self):\n{unit}{unit}run()\n"
    loop = f"{2 * unit}for x in y:\n{3 * unit}if x:\n{4 * unit}x()\n"
    assert changed(before, looped) == before.replace(f"{2 * unit}run()\n", loop)
