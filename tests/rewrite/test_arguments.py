"""Arguments that come first, and arguments of one call that another one takes."""

from __future__ import annotations

import ast

import pytest

from tests.rewrite.support import call, changed
from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite.changes import AddArgument, replace, template
from torchmigrate.text.source_text import SourceText


def as_function(source: SourceText) -> list[FixChange]:
    """``m.save(path)`` → ``save(m, path)``."""
    found = call(source, "m.save")
    assert isinstance(found.func, ast.Attribute)
    module = template("{module}", module=found.func.value)
    return [replace(found.func, "save"), AddArgument(found, module, first=True)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("m.save()", "save(m)"),
        ("m.save(path)", "save(m, path)"),
        ("m.save(f=path)", "save(m, f=path)"),
        ("m.save(*paths)", "save(m, *paths)"),
        ("m.save(\n    path,\n    k=1,  # one\n)", "save(\n    m,\n    path,\n    k=1,  # one\n)"),
        ("m.save(\n    path\n)", "save(\n    m,\n    path\n)"),
        ("m.save(path,\n       k=1)", "save(m,\n       path,\n       k=1)"),
    ],
)
def test_an_argument_comes_first(before: str, after: str) -> None:
    assert changed(before, as_function) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [("f(a, b)", "[a, b]"), ("f(*a)", "[*a]"), ("f(a, *(b or c))", "[a, *(b or c)]"), ("f()", "[]")],
)
def test_arguments_are_listed(before: str, after: str) -> None:
    def change(source: SourceText) -> FixChange:
        found = call(source, "f")
        return replace(found, "[{given}]", given=found.args)

    assert changed(before, change) == after
