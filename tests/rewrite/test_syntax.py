"""Changes made on the syntax tree: the tree of the text that they give."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchmigrate.model.findings import Change
from torchmigrate.rewrite.changes import (
    AddImport,
    Declare,
    Insert,
    Merge,
    Remove,
    ReplaceStatement,
    Symbol,
    replace,
    template,
)
from torchmigrate.rewrite.rewriter import Rewriter
from torchmigrate.rewrite.syntax import rewritten
from torchmigrate.text.source import Source

from .support import call, every

TEXT = """
import a
def f(x):
    if x:
        one = send(x, 1)
        between()
        two = send(g(x), 2)
    else:
        gone()
    return one
"""


def _wrapped(source: Source) -> list[Change]:
    outer, inner = call(source, "send"), call(source, "g")
    return [replace(outer, "h({c})", c=outer), replace(inner, "{x} + 1", x=inner.args[0])]


def _merged(source: Source) -> list[Change]:
    one, _, two = every(source, ast.If)[0].body
    calls = [node for node in every(source, ast.Call) if source.segment(node.func) == "send"]
    first, second = (template("Op({peer})", peer=node.args[1]) for node in calls)
    new = template("both = batch([\n    {first},\n    {second},\n])", first=first, second=second)
    return [Merge((one, two), new), replace(call(source, "g"), "h")]


def _statements(source: Source) -> list[Change]:
    (condition,) = every(source, ast.If)
    new = template("for y in {x}:\n    y()", x=condition.test)
    return [
        Remove(condition.orelse[0]),
        ReplaceStatement(condition.body[1], new),
        Insert(condition, template("before()")),
        Insert(condition, template("after()"), after=True),
    ]


def _imported(source: Source) -> list[Change]:
    symbol = Symbol("b.c", (AddImport("b"),))
    return [replace(call(source, "g"), "{c}([{every}])", c=symbol, every=call(source, "send").args)]


@pytest.mark.parametrize("make", [_wrapped, _merged, _statements, _imported])
def test_the_tree_is_that_of_the_text(make: Callable[[Source], list[Change]]) -> None:
    source = Source.read("case.py", TEXT.encode())
    changes = make(source)
    before = ast.dump(source.tree)
    after = source.replaced(Rewriter(source).edits(changes))
    expected, found = ast.parse(after), rewritten(source.tree, changes)
    assert sorted(map(ast.dump, found.body)) == sorted(map(ast.dump, expected.body))
    assert ast.dump(source.tree) == before
    compile(found, "case.py", "exec")


def test_what_is_not_made_on_trees_is_refused() -> None:
    source = Source.read("case.py", b"class C:\n    pass\n")
    (owner,) = every(source, ast.ClassDef)
    with pytest.raises(TypeError, match="Declare"):
        rewritten(source.tree, [Declare(owner, template("x = 1"))])
