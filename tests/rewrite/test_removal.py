"""Code that goes, whatever the file looks like, and what has to stay for its author to decide."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from torchmigrate.model.findings import FixChange, NoFix
from torchmigrate.proof.edit_verification import verify_edits
from torchmigrate.rewrite.code_removal import CodeRemoval, describe_effect
from torchmigrate.rewrite.rewriter import Rewriter
from torchmigrate.semantics.scope_builder import ModuleScopes
from torchmigrate.semantics.scopes import StatementPlace
from torchmigrate.text.source_reader import read_source
from torchmigrate.text.source_text import SourceText


def places(source: SourceText, kind: type[ast.stmt]) -> list[StatementPlace]:
    return [place for place in ModuleScopes(source.syntax_tree).places if isinstance(place.statement, kind)]


def changed(
    text: str, kind: type[ast.stmt], make: Callable[[CodeRemoval, StatementPlace], FixChange], which: int = 0
) -> str:
    """The text with a change made at the statement number ``which`` of a kind; the refusal, if there is one."""
    source = read_source("a.py", text.encode())
    try:
        change = make(CodeRemoval(source), places(source, kind)[which])
    except NoFix as none:
        return none.reason
    edits = Rewriter(source).build_edits([change])
    after = read_source("a.py", source.apply_edits(edits))
    verify_edits(source, after, edits)
    return after.text.decode()


def decided(text: str, value: bool, which: int = 0) -> str:
    return changed(text, ast.If, lambda removal, place: removal.decide_statement(place, value), which)


def removed(text: str, kind: type[ast.stmt], which: int = 0) -> str:
    return changed(text, kind, CodeRemoval.remove_statement, which)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_stay(end: str) -> None:
    text = f"if a:{end}    b(){end}    c(){end}else:{end}    d(){end}e(){end}"
    assert decided(text, True) == f"b(){end}c(){end}e(){end}"
    assert decided(text, False) == f"d(){end}e(){end}"


@pytest.mark.parametrize(
    ("text", "true", "false"),
    [
        ("if a:\n\tb()\n\tif c:\n\t\td()\n", "b()\nif c:\n\td()\n", ""),
        ("if a: b(); c()\nelse: d()\n", "b(); c()\n", "d()\n"),
        ("if a: b()\ne()", "b()\ne()", "e()"),
        ("if a:\n    b()", "b()", ""),
        ("if a:\n  '''x\n  y'''\n  b()\n", "'''x\n  y'''\nb()\n", ""),
        ("if a:\n  b(f'''{c}\n  d''',\n    e)\n", "b(f'''{c}\n  d''',\n  e)\n", ""),
        ("if a:\n  b(1,\n2)\n  c = 1 + \\\n      2\n", "b(1,\n2)\nc = 1 + \\\n      2\n", ""),
        ("if a:\n    # one\n    b()\n    # two\nc()\n", "# one\nb()\n# two\nc()\n", None),
        ("if a:  # why\n    b()\n", "# why\nb()\n", "# why\n"),
        ("if (a\n    ):\n    b()\nelse:\n\n    c()\n", "b()\n", "c()\n"),
        ("if a:\n    @b\n    def c():\n        d()\n", "@b\ndef c():\n    d()\n", ""),
        ("if a:\n    pass\nelse:\n    b()\n", "", "b()\n"),
        ("if a:\n    b()\nelse:\n    if c:\n        d()\n", "b()\n", "if c:\n    d()\n"),
        ("if a:\n    b()\nelif c:\n    d()\n", "b()\n", "if c:\n    d()\n"),
        ("if a:\n    b()\nelse:\n    # lost\n    c()\n", None, "# lost\nc()\n"),
        ("if a:\n    b()  # lost\nelse:\n    c()\n", "b()  # lost\n", None),
        ("if a:\n    b()\nelse:  # lost\n    c()\n", None, "# lost\nc()\n"),
        ("if a:\n    b()\n# lost\nelse:\n    c()\n", None, "# lost\nc()\n"),
        ("if a:\n    b()\nelse:\n    c()\n    # lost\nd()\n", None, "c()\n# lost\nd()\n"),
        (
            "if a:\n    b()\nelif c:\n    d()\n# kept\ne()\n",
            "b()\n# kept\ne()\n",
            "if c:\n    d()\n# kept\ne()\n",
        ),
        ("if a:\n    pass  # nothing\nelse:\n    b()\n", "# nothing\n", "# nothing\nb()\n"),
        (
            "if a:\n    b()  # torchmigrate: ignore\nelse:\n    c()\n",
            "b()  # torchmigrate: ignore\n",
            "c()\n",
        ),
    ],
)
def test_an_if(text: str, true: str | None, false: str | None) -> None:
    """None stands for a refusal, because of a comment in the code that would be removed."""
    for value, expected in ((True, true), (False, false)):
        result = decided(text, value)
        if expected is None:
            assert "would be removed" in result
        else:
            assert result == expected


CHAIN = "if a:\n    1\nelif b:  # b\n    2\nelif c:  # c\n    3\nelse:\n    4\n"


@pytest.mark.parametrize(
    ("which", "value", "expected"),
    [
        (0, False, "if b:  # b\n    2\nelif c:  # c\n    3\nelse:\n    4\n"),
        (1, False, "if a:\n    1\n# b\nelif c:  # c\n    3\nelse:\n    4\n"),
        (1, True, None),
        (2, False, "if a:\n    1\nelif b:  # b\n    2\n# c\nelse:\n    4\n"),
        (2, True, "if a:\n    1\nelif b:  # b\n    2\nelse:  # c\n    3\n"),
    ],
)
def test_a_chain(which: int, value: bool, expected: str | None) -> None:
    result = decided(CHAIN, value, which)
    assert result == expected or (expected is None and "`# c` is in the code" in result)


def test_the_comment_of_the_last_arm_stays_behind_the_chain() -> None:
    text = "def f():\n    if a:\n        1\n    elif b:  # b\n        2\n    c\n"
    assert decided(text, False, 1) == "def f():\n    if a:\n        1\n    # b\n    c\n"


@pytest.mark.parametrize(
    ("text", "which", "expected"),
    [
        ("a()\nb()\n", 0, "b()\n"),
        ("a(); b()\n", 0, "b()\n"),
        ("a(); b()\n", 1, "a()\n"),
        ("def f():\n    a()\n", 0, "def f():\n    pass\n"),
        ("def f(): a()\n", 0, "def f(): pass\n"),
        ("def f(): a(); b()\n", 0, "def f(): b()\n"),
        ("a()  # why\nb()\n", 0, "# why\nb()\n"),
        ("a(  # why\n)\nb()\n", 0, "# why\nb()\n"),
        ("x = 1\n\na()\n\ny = 2\n", 0, "x = 1\n\ny = 2\n"),
        ("x = 1\n\na()\n\n\ndef f(): b()\n", 0, "x = 1\n\n\ndef f(): b()\n"),
        ("x = 1\n\n\na()\n\ny = 1\n", 0, "x = 1\n\n\ny = 1\n"),
        ("a()\n\n\ny = 1\n", 0, "y = 1\n"),
        ("a(\n    1,\n)\nb()\n", 0, "b()\n"),
        ("a()", 0, ""),
    ],
)
def test_a_statement(text: str, which: int, expected: str) -> None:
    assert removed(text, ast.Expr, which) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f():\n    a()\n\n    b = 1\n", "def f():\n    b = 1\n"),
        ("if c:\n    pass\nelse:\n    a()\n\n\n    b = 1\n", "if c:\n    pass\nelse:\n    b = 1\n"),
        ("def f():\n\n    a()\n\n    b = 1\n", "def f():\n\n    b = 1\n"),
        ("def f():\n    # why\n    a()\n\n    b = 1\n", "def f():\n    # why\n\n    b = 1\n"),
        ("def f():\n    c = 1\n    a()\n\n    b = 1\n", "def f():\n    c = 1\n\n    b = 1\n"),
    ],
)
def test_no_gap_is_left_where_a_block_begins(text: str, expected: str) -> None:
    assert removed(text, ast.Expr) == expected


def test_a_comment_in_a_block_keeps_the_statement() -> None:
    assert "`# why`" in removed("with a:\n    # why\n    b()\n", ast.With)
    assert removed("with a:  # why\n    pass  # nothing\n", ast.With) == "# why\n# nothing\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "def f():\n    with a:  # why\n        b()\n        c()\n    d()\n",
            "def f():\n    # why\n    b()\n    c()\n    d()\n",
        ),
        ("with a:\n\n    def f(): b()\n", "def f(): b()\n"),
    ],
)
def test_a_with_statement_is_unwrapped(text: str, expected: str) -> None:
    def change(removal: CodeRemoval, place: StatementPlace) -> FixChange:
        assert isinstance(place.statement, ast.With)
        return removal.unwrap_statement(place, place.statement.body)

    assert changed(text, ast.With, change) == expected


def test_of_a_try_statement_a_handler_is_left() -> None:
    def change(removal: CodeRemoval, place: StatementPlace) -> FixChange:
        assert isinstance(place.statement, ast.Try)
        return removal.unwrap_statement(place, place.statement.handlers[0].body)

    text = "try:\n    a()\nexcept E:  # why\n    b()\n"
    assert changed(text, ast.Try, change) == "# why\nb()\n"
    assert "`# lost`" in changed(text.replace("a()", "a()  # lost"), ast.Try, change)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("if s():\n        x = 1\n    return x", "`x` is used elsewhere"),
        ("if s():\n        yield 1\n    return 2", "`yield`"),
        ("if s():\n        global x\n    x = 2", "`global`"),
        ("if s():\n        x = 1\n    x = 2\n    return x", None),
        ("if s():\n        x = 1\n        print(x)", None),
    ],
)
def test_what_a_dead_part_does_without_running(function: str, reason: str | None) -> None:
    text = f"def f():\n    {function}\n"
    place = places(read_source("a.py", text.encode()), ast.If)[0]
    assert isinstance(place.statement, ast.If)
    said = describe_effect(place, place.statement.body)
    assert said is None if reason is None else reason in (said or "")
    assert (decided(text, False) == said) is (reason is not None)


@pytest.mark.parametrize("which", [0, 1])
def test_a_semicolon_may_stand_beside_a_line_continuation(which: int) -> None:
    text = "def f():\n    a = 1 \\\n    ; \\\n    b = 1\n    # c\n    return 2\n"
    kept = ("b = 1", "a = 1")[which]
    assert removed(text, ast.Assign, which) == f"def f():\n    {kept}\n    # c\n    return 2\n"
