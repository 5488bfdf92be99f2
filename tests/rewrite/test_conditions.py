"""Conditions of which a part has become known: `yes` is true and `no` is false."""

from __future__ import annotations

import ast

import pytest

from torchmigrate.model.findings import NoFix
from torchmigrate.proof.verify import verify
from torchmigrate.rewrite.conditions import Condition
from torchmigrate.rewrite.rewriter import Rewriter
from torchmigrate.text.source import Source


def known(node: ast.expr) -> bool | None:
    return {"yes": True, "no": False}.get(node.id) if isinstance(node, ast.Name) else None


def simplified(text: str, *, is_test: bool = True) -> bool | str:
    """The truth of the condition; what is left of it; or why it cannot be simplified."""
    source = Source.read("a.py", f"{text}\n".encode())
    (statement,) = source.tree.body
    assert isinstance(statement, ast.Expr)
    try:
        condition = Condition(statement.value, known, is_test)
    except NoFix as none:
        return none.reason
    if condition.value is not None:
        return condition.value
    edits = Rewriter(source).edits(condition.changes)
    after = Source.read("a.py", source.replaced(edits))
    verify(source, after, edits)
    return after.text.decode().rstrip("\n")


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("yes", True),
        ("not yes", False),
        ("not not no", False),
        ("a", "a"),
        ("a and no", False),
        ("no and a()", False),
        ("a or yes", True),
        ("yes and yes", True),
        ("no or no", False),
        ("a and yes", "a"),
        ("no or a or b", "a or b"),
        ("a and yes and b", "a and b"),
        ("not (a and yes)", "not (a)"),
        ("a or (no and b)", "a"),
        ("a and (b or no)", "a and (b)"),
        ("isinstance(a, b) and no", False),
        ("a.is_quiet(b.c) and no", False),
        ("a()", "a()"),
        ("yes and a()", "a()"),
    ],
)
def test_a_test_is_decided_or_loses_what_is_known(text: str, result: bool | str) -> None:
    assert simplified(text) == result


USED = "the value of the condition is used, not only its truth"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("a and no", USED),
        ("a or yes", USED),
        ("a and yes", USED),
        ("a or no", USED),
        ("no and a", False),
        ("yes or a", True),
        ("yes and a", "a"),
        ("no or a", "a"),
        ("not (a and no)", True),
    ],
)
def test_where_the_value_is_used_it_stays_the_same(text: str, result: bool | str) -> None:
    assert simplified(text, is_test=False) == result


@pytest.mark.parametrize("first", ["a()", "a.b()", "isinstance(a(), b)", "a[b]", "(c := a)", "b + a()"])
def test_what_may_do_something_before_is_not_dropped(first: str) -> None:
    reason = simplified(f"{first} and no")
    assert isinstance(reason, str)
    assert reason.endswith("is evaluated first and may have side effects")


def test_what_is_behind_is_never_evaluated_and_goes_with_it() -> None:
    assert simplified("no and a() and b[c]") is False
