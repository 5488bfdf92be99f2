"""Clauses of statements, names in strings, parts that lie elsewhere, and operands of conditions."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from tests.rewrite.support import call, changed, every
from torchmigrate.model.findings import Edit, FixChange, NoFix
from torchmigrate.rewrite.changes import (
    Annotate,
    Declare,
    DropArguments,
    DropItems,
    Replace,
    replace,
    template,
)
from torchmigrate.rewrite.condition_folding import FoldedCondition
from torchmigrate.rewrite.rewriter import Rewriter
from torchmigrate.text.source_text import SourceText


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("with gone(), a as b:\n    c\n", "with a as b:\n    c\n"),
        ("with a, gone():\n    c\n", "with a:\n    c\n"),
        ("async def f():\n    async with a, gone(), b: c\n", "async def f():\n    async with a, b: c\n"),
        (
            "with (\n    a as b,\n    gone(),  # why\n    d,\n):\n    c\n",
            "# why\nwith (\n    a as b,\n    d,\n):\n    c\n",
        ),
        ("with (\n    a,\n    gone(),\n):\n    c\n", "with (\n    a,\n):\n    c\n"),
    ],
)
def test_a_context_manager_goes(before: str, after: str) -> None:
    def change(source: SourceText) -> FixChange:
        found: list[ast.With | ast.AsyncWith] = []
        found += every(source, ast.With)
        found += every(source, ast.AsyncWith)
        (statement,) = found
        gone = next(item for item in statement.items if source.get_segment(item.context_expr) == "gone()")
        return DropItems(statement, (gone,))

    assert changed(before, change) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = note(int, 1)\n", "x: int = 1\n"),
        ("a; x = note(int, 1); b\n", "a; x: int = 1; b\n"),
        ("x = note(List  # of\n[int], [])\n", "x: (List  # of\n[int]) = []\n"),
        ("self.x = note(int, y or 1)  # why\n", "self.x: int = y or 1  # why\n"),
        (
            "x = note(\n    Dict[str, int],  # how often\n    {},\n)\n",
            "x: Dict[str, int] = {}  # how often\n",
        ),
        ("x = note(int, f  # why\n    .g)\n", "x: int = (f  # why\n    .g)\n"),
        ("if a: x = note(int, 1)\n", "if a: x: int = 1\n"),
    ],
)
def test_a_variable_is_annotated(before: str, after: str) -> None:
    def changes(source: SourceText) -> list[FixChange]:
        (statement,) = every(source, ast.Assign)
        note = call(source, "note")
        value = replace(note, "{value}", value=note.args[1])
        return [value, Annotate(statement, template("{type}", type=note.args[0]))]

    assert changed(before, changes) == after


def in_string(source: SourceText) -> ast.expr:
    """The name in the string ``"old.T"``, as gate 2 gives it."""
    literal = next(node for node in every(source, ast.Constant) if isinstance(node.value, str))
    quoted = ast.parse(str(literal.value), mode="eval").body
    for node in ast.walk(quoted):
        if isinstance(node, ast.expr):
            node.lineno = node.end_lineno = literal.lineno
            node.col_offset += literal.col_offset + 1
            node.end_col_offset = (node.end_col_offset or 0) + literal.col_offset + 1
    assert isinstance(quoted, ast.Subscript)
    return quoted.value


def test_a_name_in_a_string_changes() -> None:
    assert changed('x: "old.T[int]" = 1\n', lambda source: replace(in_string(source), "new.T")) == (
        'x: "new.T[int]" = 1\n'
    )


def test_no_part_of_the_file_moves_into_a_string() -> None:
    def change(source: SourceText) -> Replace:
        return replace(in_string(source), "{part}", part=every(source, ast.Name)[0])

    with pytest.raises(NoFix, match="inside a string"):
        changed('x: "old.T[int]" = 1\n', change)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("fork(f, x, k=1)\n", "f(x, k=1)\n"),
        ("fork(\n    f,\n    x,\n)\n", "f(\n    x,\n)\n"),
        ("fork(f)\n", "f()\n"),
        ("fork(\n    f\n)\n", "f()\n"),
        ("fork(lambda: 1)\n", "(lambda: 1)()\n"),
        ("fork(fork(f, 1), fork(g))\n", "f(1)(g())\n"),
    ],
)
def test_a_part_may_lie_behind_what_takes_it(before: str, after: str) -> None:
    def changes(source: SourceText) -> list[FixChange]:
        forks = [node for node in every(source, ast.Call) if source.get_segment(node.func) == "fork"]
        named: list[FixChange] = [replace(node.func, "{f}", f=node.args[0]) for node in forks]
        return [*named, *(DropArguments(node, (node.args[0],)) for node in forks)]

    assert changed(before, changes) == after


def test_two_declarations_share_the_blank_line_behind_them() -> None:
    source = SourceText.decode_source("case.py", b"class C:\n    def f(self): pass\n")
    (owner,) = every(source, ast.ClassDef)
    edits: set[Edit] = set()
    for name in "ab":
        edits.update(Rewriter(source).build_edits([Declare(owner, template(f"{name}: int"))]))
    text = source.apply_edits(sorted(edits)).decode()
    assert text == "class C:\n    a: int\n    b: int\n\n    def f(self): pass\n"


@pytest.mark.parametrize(
    ("condition", "after"),
    [
        ("not s() and a", "a"),
        ("a and not s()", "a"),
        ("not s() and (a or b)", "a or b"),
        ("a or s() or b", "a or b"),
        ("x or (a and not s())", "x or (a)"),
        ("(\n    a\n    and not s()  # why\n    and b\n)", "(\n    a  # why\n    and b\n)"),
        ("a \\\n    and not s()", "a"),
        ("s()", False),
        ("a and s()", False),
        ("not (a and s())", True),
    ],
)
def test_a_condition_of_which_a_part_is_known(condition: str, after: str | bool) -> None:
    source = SourceText.decode_source("case.py", dedent(f"if {condition}:\n    pass\n").encode())
    (test,) = (node.test for node in every(source, ast.If))

    def known(node: ast.expr) -> bool | None:
        return False if isinstance(node, ast.Call) and source.get_segment(node) == "s()" else None

    found = FoldedCondition(test, known, is_test=True)
    if found.value is not None:
        assert found.value is after
        return
    edits = Rewriter(source).build_edits(found.changes)
    assert source.apply_edits(edits).decode() == f"if {after}:\n    pass\n"


@pytest.mark.parametrize(
    ("condition", "is_test", "reason"),
    [
        ("a and s()", False, "not only its truth"),
        ("a and not s()", False, "not only its truth"),
        ("f() and s()", True, r"`f\(\)` is evaluated first and may have side effects"),
    ],
)
def test_a_condition_that_cannot_be_simplified(condition: str, is_test: bool, reason: str) -> None:
    def known(node: ast.expr) -> bool | None:
        return False if isinstance(node, ast.Call) and ast.unparse(node) == "s()" else None

    with pytest.raises(NoFix, match=reason):
        FoldedCondition(ast.parse(condition, mode="eval").body, known, is_test)
