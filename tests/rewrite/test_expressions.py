"""Expressions: replaced by templates, with parentheses, comments and line breaks as they have to be."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from tests.rewrite.support import call, changed, every
from torchmigrate.model.findings import FixChange, NoFix
from torchmigrate.rewrite.changes import (
    AddArgument,
    DropArguments,
    DropOperands,
    NameArgument,
    Rename,
    RenameFile,
    Symbol,
    replace,
    template,
)
from torchmigrate.text.source_text import SourceText


def plain(source: SourceText) -> FixChange:
    """``f(x)`` → ``x``."""
    found = call(source, "f")
    return replace(found, "{x}", x=found.args[-1])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("y = f(a)", "y = a"),
        ("y = f(a or b)", "y = a or b"),
        ("y = f(a or b) and c", "y = (a or b) and c"),
        ("y = not f(a or b)", "y = not (a or b)"),
        ("y = not f(a == b)", "y = not a == b"),
        ("y = f(a or b).c", "y = (a or b).c"),
        ("y = f(a or b)(c)", "y = (a or b)(c)"),
        ("y = -f(a + b)", "y = -(a + b)"),
        ("y = g(f(a if b else c))", "y = g(a if b else c)"),
        ("y = f(a if b else c) if d else e", "y = (a if b else c) if d else e"),
        ("y = f((a, b))", "y = (a, b)"),
        ("y = g(*f(a or b))", "y = g(*(a or b))"),
        ("y = f(lambda: 0) or z", "y = (lambda: 0) or z"),
        ("y = f(1).bit_length()", "y = (1).bit_length()"),
        ("y = [f(i) for i in f(a or b)]", "y = [i for i in f(a or b)]"),
        ("y = (f(a))", "y = (a)"),
        ("y = (f((a)))", "y = (a)"),
        ("return_ = f(await_ or b)[0]", "return_ = (await_ or b)[0]"),
        ("y = f(T, a or\n      b)", "y = (a or\n      b)"),
        ("y = [f(T, a or\n       b)]", "y = [a or\n       b]"),
        ("y = f(T, (a or\n      b))", "y = (a or\n      b)"),
        ("if f(a\n   or b): pass", "if (a\n   or b): pass"),
        ("y = f(x for x in z)", "y = (x for x in z)"),
        ("y = f(  # why\n    a)", "y = a  # why"),
        ("y = f(T,  # one\n  a  # two\n)", "# one\n# two\ny = a"),
        ("y = f(T,  # one\n  a)  # two", "# one\ny = a  # two"),
        ("x = 1; y = f(a); z = 2", "x = 1; y = a; z = 2"),
        ("if x: y = f(a)\nelse: z", "if x: y = a\nelse: z"),
        ("if x:\n    pass\nelif f(a):  # why\n    pass", "if x:\n    pass\nelif a:  # why\n    pass"),
        ("def g(p=f(a)) -> int:\n\tpass", "def g(p=a) -> int:\n\tpass"),
        ("@d(f(a))\nclass C: pass", "@d(a)\nclass C: pass"),
        ("try:\n    pass\nexcept f(a):\n    pass", "try:\n    pass\nexcept a:\n    pass"),
        ("y = f(a)\r\nz\r\n", "y = a\r\nz\r\n"),
        ("y = f('é') or 'é'", "y = 'é' or 'é'"),
    ],
)
def test_a_part_takes_the_place_of_the_whole(before: str, after: str) -> None:
    assert changed(before, plain) == after


def test_an_expression_may_be_wrapped_while_its_parts_change() -> None:
    text = "m = trace(model, x,\n          check=False)\n"

    def changes(source: SourceText) -> list[FixChange]:
        found = call(source, "trace")
        return [
            replace(found, "{m}.module()", m=found),
            replace(found.func, "{f}", f=Symbol("torch.export.export")),
            replace(found.args[1], "({x},)", x=found.args[1]),
            DropArguments(found, (found.keywords[0],)),
            AddArgument(found, template("False"), "strict"),
        ]

    assert changed(text, changes) == "m = torch.export.export(model, (x,), strict=False).module()\n"


def test_a_part_that_is_used_twice_stands_twice() -> None:
    def changes(source: SourceText) -> FixChange:
        found = call(source, "f")
        return replace(found, "{a} is None or g({a}, {b})", a=found.args[0], b=found.args[1])

    assert changed("y = f(x.y, int)", changes) == "y = x.y is None or g(x.y, int)"


def test_a_sequence_is_listed() -> None:
    def changes(source: SourceText) -> FixChange:
        found = call(source, "f")
        return replace(found, "g(({all}), {{}})", all=found.args)

    assert changed("y = f(1, b or c)", changes) == "y = g((1, b or c), {})"


def test_a_part_may_come_from_another_statement() -> None:
    def changes(source: SourceText) -> FixChange:
        return replace(call(source, "f"), "{x}", x=call(source, "g").args[0])

    assert changed("f(1)\ng(a or\n  b)\n", changes) == "(a or\n  b)\ng(a or\n  b)\n"


@pytest.mark.parametrize(
    ("before", "gone", "after"),
    [
        ("f(a, b, c)", "a", "f(b, c)"),
        ("f(a, b, c)", "b", "f(a, c)"),
        ("f(a, b, c)", "c", "f(a, b)"),
        ("f(a, b=1)", "b=1", "f(a)"),
        ("f(a)", "a", "f()"),
        ("f(\n    a,\n    b,\n)", "b", "f(\n    a,\n)"),
        ("f(\n    a,  # one\n    b,  # two\n    c,\n)", "b", "# two\nf(\n    a,  # one\n    c,\n)"),
        ("f((a), (b))", "b", "f((a))"),
        # One argument alone needs no lines of its own, but for a comma that asks for them.
        ("f(\n    a, b\n)", "b", "f(a)"),
        ("f(\n    a,\n    b\n)", "b", "f(a)"),
        ("f(\n    a,  # one\n    b\n)", "b", "f(a)  # one"),
    ],
)
def test_an_argument_goes(before: str, gone: str, after: str) -> None:
    def change(source: SourceText) -> FixChange:
        found = call(source, "f")
        given: list[ast.expr | ast.keyword] = [*found.args, *found.keywords]
        return DropArguments(found, tuple(node for node in given if source.get_segment(node) == gone))

    assert changed(before, change) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("f()", "f(k=0)"),
        ("f(a)", "f(a, k=0)"),
        ("f(a, )", "f(a, k=0, )"),
        ("f(\n    a\n)", "f(\n    a,\n    k=0\n)"),
        ("f(\n    a,  # one\n    b,  # two\n)", "f(\n    a,  # one\n    b,  # two\n    k=0,\n)"),
        ("f(a,\n  b)", "f(a,\n  b,\n  k=0)"),
    ],
)
def test_an_argument_comes(before: str, after: str) -> None:
    assert changed(before, lambda source: AddArgument(call(source, "f"), template("0"), "k")) == after


def test_keywords_and_parameters_are_renamed_and_positions_named() -> None:
    def changes(source: SourceText) -> list[FixChange]:
        found = call(source, "f")
        parameter = every(source, ast.arg)[0]
        return [Rename(found.keywords[0], "model"), NameArgument(found.args[0], "x"), Rename(parameter, "n")]

    for argument in ("y", "(y)", "y if y else 0"):
        before = f"def g(a: int = 1): return f({argument}, obj = z)\n"
        assert changed(before, changes) == f"def g(n: int = 1): return f(x={argument}, model = z)\n"


@pytest.mark.parametrize(
    ("before", "gone", "after"),
    [
        ("if a and b and c: pass", "a", "if b and c: pass"),
        ("if a and b and c: pass", "b", "if a and c: pass"),
        ("if a and b and c: pass", "c", "if a and b: pass"),
        ("if (a\n    and b  # why\n    and c):\n    pass", "c", "if (a\n    and b):\n    pass"),
        ("x = a and (b or c)", "a", "x = b or c"),
        ("x = (a and b)", "a", "x = (b)"),
        ("x = a or \\\n  b", "a", "x = b"),
    ],
)
def test_operands_go(before: str, gone: str, after: str) -> None:
    def change(source: SourceText) -> FixChange:
        found = every(source, ast.BoolOp)[0]
        return DropOperands(found, tuple(node for node in found.values if source.get_segment(node) == gone))

    if "# why" in before:
        after = "# why\n" + after
    assert changed(before, change) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('"m.pt"', '"m.pt2"'),
        ("r'a\\m.pth'", "r'a\\m.pt2'"),
        ('f"{a}/m.pt"', 'f"{a}/m.pt2"'),
        ('"a/" "m.pt"', '"a/" "m.pt2"'),
        ('"""m.pt"""', '"""m.pt2"""'),
    ],
)
def test_a_file_has_another_suffix(before: str, after: str) -> None:
    def change(source: SourceText) -> FixChange:
        literal = call(source, "f").args[0]
        assert isinstance(literal, (ast.Constant, ast.JoinedStr))
        return RenameFile(literal, ".pt2")

    assert changed(f"f({before})", change) == f"f({after})"


def test_a_line_that_becomes_too_long_is_broken_as_a_formatter_breaks_it() -> None:
    long = "a" * 40

    def change(source: SourceText) -> FixChange:
        return AddArgument(call(source, "f"), template("{x}", x=call(source, "g").args[0]), "keyword")

    before = f"""\
    def h():
        y = f({long}, 1).module()
        g({"b" * 40})
    """
    after = f"""\
    def h():
        y = f(
            {long},
            1,
            keyword={"b" * 40},
        ).module()
        g({"b" * 40})
    """
    assert changed(before, change) == dedent(after)


def test_a_line_that_is_as_long_as_others_of_the_file_stays_whole() -> None:
    def change(source: SourceText) -> FixChange:
        return AddArgument(call(source, "f"), template("{x}", x=call(source, "g").args[0]), "keyword")

    before = f"y = f({'a' * 40}, 1)\ng({'b' * 110})\n"
    assert changed(before.replace("b" * 110, "b" * 40 + ", " + "c" * 60), change).startswith(
        f"y = f({'a' * 40}, 1, keyword={'b' * 40})\n"
    )


def called(source: SourceText) -> FixChange:
    """``wait(fork(f, x))`` → ``f(x)``."""
    fork = call(source, "fork")
    return replace(call(source, "wait"), "{f}({x})", f=fork.args[0], x=fork.args[1])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Comments and line breaks beside the parentheses that go, and beside those that stay.
        ("z[wait(fork(f + 1, x # b\n)\n)]\n", "z[(f + 1)(x)]  # b\n"),
        ("z[wait( # a\nfork(\nf + # b\n1\n, x\n))]\n", "# a\nz[(f + # b\n1)(x)]\n"),
        ("z[wait(fork((f\n+ 1), x)\n)]\n", "z[(f\n+ 1)(x)]\n"),
        # A tuple and the parameters of a lambda may stand outside of parentheses.
        ("y, z = a, wait(fork(f # a\n(b), x))\n", "y, z = a, (f # a\n(b)(x))\n"),
        ("z = lambda y=wait(fork(f # a\n(b), x)): 0\n", "z = lambda y=(f # a\n(b)(x)): 0\n"),
        ("def z(y=wait(fork(f # a\n(b), x))): ...\n", "def z(y=f # a\n(b)(x)): ...\n"),
    ],
)
def test_a_call_may_be_broken_anywhere(before: str, after: str) -> None:
    assert changed(before, called) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('(m).save("a.pt")\n', 'new.save((m), "a.pt2")\n'),
        ('m . save ( "a.pt" )\n', 'new.save ( m, "a.pt2" )\n'),
        ('m.save (\n    "a.pt"\n)\n', 'new.save (\n    m,\n    "a.pt2"\n)\n'),
    ],
)
def test_a_method_becomes_a_function_in_any_layout(before: str, after: str) -> None:
    def change(source: SourceText) -> list[FixChange]:
        (found,) = every(source, ast.Call)
        (path,) = found.args
        assert isinstance(found.func, ast.Attribute)
        assert isinstance(path, ast.Constant)
        first = template("{x}", x=found.func.value)
        return [
            replace(found.func, "new.save"),
            AddArgument(found, first, first=True),
            RenameFile(path, ".pt2"),
        ]

    assert changed(before, change) == after


def test_what_libcst_cannot_read_has_no_fix() -> None:
    with pytest.raises(NoFix, match="libcst cannot parse the statement on line 1"):
        changed("async def f(): return [f(x) async\n for x in y]\n", plain)
