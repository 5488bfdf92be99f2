"""Arguments taken out of calls and added to them; decorators taken off."""

from __future__ import annotations

import ast

import pytest

from torchmigrate.rewrite import calls, decorators
from torchmigrate.text.edits import apply
from torchmigrate.text.read import read
from torchmigrate.text.source import Source


def call_in(text: str) -> tuple[Source, ast.Call]:
    source = read("case.py", text.encode())
    return source, next(node for node in ast.walk(source.tree) if isinstance(node, ast.Call))


@pytest.mark.parametrize(
    ("text", "gone", "expected"),
    [
        ("f(a, b, c=1)", "c", "f(a, b)"),
        ("f(a, b=2, c=1)", "b", "f(a, c=1)"),
        ("f(a=(0), b=2)", "a", "f(b=2)"),
        ("f((a), b=(2))", "b", "f((a))"),
        ("f(\n    a,\n    b=2,\n)", "b", "f(\n    a,\n)"),
        ("f(b=2)", "b", "f()"),
        ("f(a, b=2, c=3, d=4)", "bc", "f(a, d=4)"),
    ],
)
def test_without(text: str, gone: str, expected: str) -> None:
    source, call = call_in(text)
    edits = calls.without(source, call, [k for k in call.keywords if k.arg and k.arg in gone])
    assert apply(source.text, edits).decode() == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("f()", "f(z)"), ("f(a)", "f(a, z)"), ("f((a),)", "f((a), z,)"), ("(f)(a=1)", "(f)(a=1, z)")],
)
def test_appended(text: str, expected: str) -> None:
    source, call = call_in(text)
    assert apply(source.text, [calls.appended(source, call, "z")]).decode() == expected


def test_argument() -> None:
    _, call = call_in("f(a, *b, c, d=1)")
    first = calls.argument(call, 0, "x")
    assert isinstance(first, ast.Name)
    assert first.id == "a"
    assert calls.argument(call, 2, "x") is None, "it may be one of those that `*b` gives"
    assert isinstance(calls.argument(call, 5, "d"), ast.Constant)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("@d\ndef f(): pass\n", "def f(): pass\n"),
        ("@a\n@d\n@b\ndef f(): pass\n", "@a\n@b\ndef f(): pass\n"),
        ("@d  # why\ndef f(): pass\n", "# why\ndef f(): pass\n"),
        ("# before\n@d\n# after\ndef f(): pass\n", "# before\n# after\ndef f(): pass\n"),
        ("class C:\n\t@ d\r\n\tdef f(self): pass\r\n", "class C:\n\tdef f(self): pass\r\n"),
    ],
)
def test_decorator_removed(text: str, expected: str) -> None:
    source = read("case.py", text.encode())
    definition = next(n for n in ast.walk(source.tree) if isinstance(n, ast.FunctionDef))
    decorator = next(d for d in definition.decorator_list if ast.unparse(d) == "d")
    edit = decorators.removed(source, definition, decorator)
    assert edit is not None
    assert apply(source.text, [edit]).decode() == expected


@pytest.mark.parametrize("text", ["@(d)\ndef f(): pass\n", "@d(  # why\n)\ndef f(): pass\n"])
def test_decorator_that_stays(text: str) -> None:
    source = read("case.py", text.encode())
    definition = source.tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    assert decorators.removed(source, definition, definition.decorator_list[0]) is None
