"""The arguments of calls, looked up."""

from __future__ import annotations

import ast

from torchmigrate.semantics.call_arguments import argument_value, find_argument, list_arguments


def call(text: str) -> ast.Call:
    """The call that the text is."""
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Call)
    return node


def test_argument() -> None:
    found = call("f(a, *b, c, d=1)")
    first = find_argument(found, 0, "x")
    assert isinstance(first, ast.Name)
    assert first.id == "a"
    assert find_argument(found, 2, "x") is None, "it may be one of those that `*b` gives"
    assert isinstance(find_argument(found, 5, "d"), ast.Constant)
    assert find_argument(found, None, "e") is None


def test_arguments_are_those_of_both_kinds_as_written() -> None:
    given = list_arguments(call("f(a, k=b, *c, **d)"))
    assert [ast.unparse(argument_value(one)) for one in given] == ["a", "b", "*c", "d"]
