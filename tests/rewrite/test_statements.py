"""Changes of statements (removed, unwrapped, decided, inserted) and the surrounding code."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from tests.rewrite.support import call, changed, every
from torchmigrate.model.findings import FixChange, NoFix
from torchmigrate.rewrite.changes import (
    AddDecorator,
    AddImport,
    AddParameters,
    Decide,
    Declare,
    DropArguments,
    DropImports,
    ExtendImport,
    Insert,
    Rebind,
    Remove,
    RemoveDecorator,
    ReplaceStatement,
    Unwrap,
    replace,
    template,
)
from torchmigrate.text.source_text import SourceText


def gone(source: SourceText) -> list[FixChange]:
    """Removes every ``gone()``."""
    return [Remove(node) for node in every(source, ast.Expr) if source.get_segment(node).startswith("gone(")]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("gone()\n", ""),
        ("a\ngone()\nb\n", "a\nb\n"),
        ("a\n\ngone()\n\nb\n", "a\n\nb\n"),
        ("a\n\n\ngone()\nb\n", "a\n\n\nb\n"),
        ("a\ngone()\n\n\nb\n", "a\n\n\nb\n"),
        ("gone()\n\n\nb\n", "b\n"),
        ("a; gone(); b\n", "a; b\n"),
        ("a; gone()\n", "a\n"),
        ("gone(); b\n", "b\n"),
        ("if x: gone()\nb\n", "if x: pass\nb\n"),
        ("if x:\n    gone()\n", "if x:\n    pass\n"),
        ("if x:\n    gone()\n    gone(1)\nb\n", "if x:\n    pass\nb\n"),
        ("if x:\n    a\n    gone()\n    gone(1)\nb\n", "if x:\n    a\nb\n"),
        ("def f():\n\tgone()\n\treturn 1\n", "def f():\n\treturn 1\n"),
        ("gone()  # why\nb\n", "# why\nb\n"),
        ("a\n# above\ngone()\nb\n", "a\n# above\nb\n"),
        ("gone(  # one\n    1,  # two\n)\nb\n", "# one\n# two\nb\n"),
        ("if x:\n    gone()  # why\n", "if x:\n    pass  # why\n"),
        ("a\r\ngone()\r\nb\r\n", "a\r\nb\r\n"),
        ("gone(\n)", ""),
        (
            "class C:\n    def f(self):\n        gone()\n        a\n\n    b\n",
            "class C:\n    def f(self):\n        a\n\n    b\n",
        ),
    ],
)
def test_a_statement_goes(before: str, after: str) -> None:
    assert changed(before, gone) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("with gone():\n    a\n    b\nc\n", "a\nb\nc\n"),
        ("with gone():  # why\n    # a\n    a\n    # end\nc\n", "# why\n# a\na\n# end\nc\n"),
        ("if x:\n    with gone(): a\n", "if x:\n    a\n"),
        ("with gone():\n    pass\nc\n", "c\n"),
        ('with gone():\n    a = """\n    b\n"""\n    f(1,\n      2)\n', 'a = """\n    b\n"""\nf(1,\n  2)\n'),
    ],
)
def test_a_block_takes_the_place_of_its_statement(before: str, after: str) -> None:
    def change(source: SourceText) -> FixChange:
        statement = every(source, ast.With)[0]
        return Unwrap(statement, statement.body)

    assert changed(before, change) == after


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("if t:\n    a\nelse:\n    b\n", True, "a\n"),
        ("if t:\n    a\nelse:\n    b\n", False, "b\n"),
        ("if t:\n    a\nb\n", False, "b\n"),
        ("if t:\n    a\nelif x:\n    b\nelse:\n    c\n", False, "if x:\n    b\nelse:\n    c\n"),
        ("if x:\n    a\nelif t:\n    b\nelse:\n    c\n", True, "if x:\n    a\nelse:\n    b\n"),
        ("if x:\n    a\nelif t:\n    b\nelse:\n    c\n", False, "if x:\n    a\nelse:\n    c\n"),
        ("if x:\n    a\nelif t:\n    b\nelif y:\n    c\n", False, "if x:\n    a\nelif y:\n    c\n"),
        ("if x:\n    a\nelif t:\n    b\n", False, "if x:\n    a\n"),
        ("def f():\n    if t: return 1\n    return 2\n", True, "def f():\n    return 1\n    return 2\n"),
        ("if x:\n    if t:\n        a\n", False, "if x:\n    pass\n"),
    ],
)
def test_a_condition_is_decided(before: str, value: bool, after: str) -> None:
    def change(source: SourceText) -> FixChange:
        found = next(node for node in every(source, ast.If) if source.get_segment(node.test) == "t")
        return Decide(found, value)

    assert changed(before, change) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("@d\ndef f(): pass\n", "def f(): pass\n"),
        ("@d  # why\ndef f():\n    a\n", "# why\ndef f():\n    a\n"),
        ("@a\n@d  # why\n@b\nclass C:\n    a\n", "@a\n# why\n@b\nclass C:\n    a\n"),
        (
            "class C:\n    # f\n    @d\n    # g\n    def f(self):\n        a\n",
            "class C:\n    # f\n    # g\n    def f(self):\n        a\n",
        ),
        ("@(d)\ndef f(): pass\n", "def f(): pass\n"),
    ],
)
def test_a_decorator_goes(before: str, after: str) -> None:
    def change(source: SourceText) -> FixChange:
        owner = next(node for node in every(source, ast.AST) if getattr(node, "decorator_list", None))
        decorator = next(d for d in owner.decorator_list if source.get_segment(d) == "d")  # type: ignore[attr-defined]
        return RemoveDecorator(owner, decorator)  # type: ignore[arg-type]

    assert changed(before, change) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(): pass\n", "@d\ndef f(): pass\n"),
        ("# f\n@a  # why\n# g\ndef f():\n    a\n", "# f\n@d\n@a  # why\n# g\ndef f():\n    a\n"),
        (
            "class C:\n    # f\n    async def f(self):\n        a\n",
            "class C:\n    # f\n    @d\n    async def f(self):\n        a\n",
        ),
    ],
)
def test_a_decorator_comes_first(before: str, after: str) -> None:
    def change(source: SourceText) -> FixChange:
        owner = next(node for node in every(source, ast.AST) if getattr(node, "name", None) == "f")
        return AddDecorator(owner, template("d"))  # type: ignore[arg-type]

    assert changed(before, change) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(a): pass\n", "def f(a, x, y=1): pass\n"),
        ("def f(a, *b, c): pass\n", "def f(a, x, y=1, *b, c): pass\n"),
        (
            "def f(\n    a,  # first\n    b,  # second\n): pass\n",
            "def f(\n    a,  # first\n    b,  # second\n    x,\n    y=1,\n): pass\n",
        ),
        ("def f(\n    a,\n    b\n): pass\n", "def f(\n    a,\n    b,\n    x,\n    y=1\n): pass\n"),
    ],
)
def test_parameters_are_added(before: str, after: str) -> None:
    def change(source: SourceText) -> FixChange:
        return AddParameters(every(source, ast.FunctionDef)[0], template("def _(x, y=1): ..."))

    assert changed(before, change) == after


def test_bases_and_keywords_of_a_class_go() -> None:
    def change(source: SourceText) -> FixChange:
        (owner,) = every(source, ast.ClassDef)
        return DropArguments(owner, (owner.bases[0], owner.keywords[0]))

    assert changed("class C(A, B, metaclass=M):\n    pass\n", change) == "class C(B):\n    pass\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("class C:\n    def f(self): pass\n", "class C:\n    x: int\n\n    def f(self): pass\n"),
        ("class C:\n    y: int\n", "class C:\n    x: int\n    y: int\n"),
        (
            'class C:\n    """Doc."""\n\n    # f\n    @d\n    def f(self): pass\n',
            'class C:\n    """Doc."""\n\n    x: int\n\n    # f\n    @d\n    def f(self): pass\n',
        ),
        ("if a:\n    class C:\n        y = 1\n", "if a:\n    class C:\n        x: int\n\n        y = 1\n"),
    ],
)
def test_a_class_declares_something_more(before: str, after: str) -> None:
    assert (
        changed(before, lambda source: Declare(every(source, ast.ClassDef)[0], template("x: int"))) == after
    )


def test_statements_come_before_and_behind() -> None:
    def changes(source: SourceText) -> list[FixChange]:
        statement = every(source, ast.Assign)[0]
        return [
            Insert(statement, template("first = {x}", x=call(source, "f").args[0])),
            Insert(statement, template("if first:\n    last()"), after=True),
            replace(call(source, "f"), "first"),
        ]

    before = "def g():\n    # above\n    y = f(a)  # beside\n    b\n"
    after = "def g():\n    # above\n    first = a\n    y = first  # beside\n    if first:\n        last()\n    b\n"
    assert changed(before, changes) == after


def test_a_statement_becomes_others_and_keeps_its_comments() -> None:
    def change(source: SourceText) -> FixChange:
        (statement,), found = every(source, ast.Assign), call(source, "annotate")
        return ReplaceStatement(statement, template("x: {t} = {v}", t=found.args[0], v=found.args[1]))

    before = """\
    def f():
        x = annotate(Dict[str, int],  # how often
                     {})
    """
    assert changed(before, change) == "def f():\n    x: Dict[str, int] = {}  # how often\n"


def test_a_statement_that_shares_its_line_is_not_replaced() -> None:
    with pytest.raises(NoFix, match="shares its line"):
        changed("a; b = 1\n", lambda source: ReplaceStatement(every(source, ast.Assign)[0], template("c\nd")))


@pytest.mark.parametrize("end", ["\\\n", "\\\r\n"])
def test_a_statement_that_continues_the_line_of_its_header_shares_it(end: str) -> None:
    with pytest.raises(NoFix, match="shares its line"):
        changed(
            f"def f():\n    if a:{end} b = 1\n    c\n",
            lambda source: Insert(every(source, ast.Assign)[0], template("d"), after=True),
        )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import torch\n", "import torch\nfrom typing import Any\n"),
        ("import os\nimport torch\n", "import os\nfrom typing import Any\nimport torch\n"),
        ("import os\n\nimport torch\n", "import os\nfrom typing import Any\n\nimport torch\n"),
        (
            "import os\nfrom abc import A\nfrom zlib import z\n",
            "import os\nfrom abc import A\nfrom typing import Any\nfrom zlib import z\n",
        ),
        (
            '"""Doc."""\nfrom __future__ import annotations\n\nimport zlib\n',
            '"""Doc."""\nfrom __future__ import annotations\n\nimport zlib\nfrom typing import Any\n',
        ),
        ('"""Doc."""\nx = 1\n', '"""Doc."""\nfrom typing import Any\nx = 1\n'),
        (
            "#!/bin/env python\n# coding: utf-8\nx = 1\n",
            "#!/bin/env python\n# coding: utf-8\nfrom typing import Any\n\nx = 1\n",
        ),
        ("import torch  # the best\n", "from typing import Any\n\nimport torch  # the best\n"),
    ],
)
def test_an_import_comes_where_isort_has_it(before: str, after: str) -> None:
    if before == "import torch\n":
        after = "from typing import Any\n\nimport torch\n"
    assert changed(before, lambda source: AddImport("typing", "Any")) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from a import b\n", "from a import b, new\n"),
        ("from a import (b)\n", "from a import (b, new)\n"),
        ("from a import (\n    b,\n    c,\n)\n", "from a import (\n    b,\n    c,\n    new,\n)\n"),
        ("from a import (\n    b\n)\n", "from a import (\n    b,\n    new\n)\n"),
        # Names that stand as isort has them stay so.
        ("from a import b, zip\n", "from a import b, new, zip\n"),
        ("from a import ABC, Bar, zip\n", "from a import ABC, Bar, new, zip\n"),
        ("from a import zip, b\n", "from a import zip, b, new\n"),
        (
            "from a import (\n    b,  # one\n    c,  # two\n    zip,\n)\n",
            "from a import (\n    b,  # one\n    c,  # two\n    new,\n    zip,\n)\n",
        ),
        (
            "from a import (\n    b,  # one\n    c,\n)\n",
            "from a import (\n    b,  # one\n    c,\n    new,\n)\n",
        ),
    ],
)
def test_an_import_is_extended(before: str, after: str) -> None:
    assert changed(before, lambda source: ExtendImport(every(source, ast.ImportFrom)[0], "new")) == after


@pytest.mark.parametrize(
    ("before", "names", "after"),
    [
        ("import a\nb\n", "a", "b\n"),
        ("from a import (\n    b,  # one\n    c,\n)\n", "b", "# one\nfrom a import (\n    c,\n)\n"),
        ("from a import b, c\n", "c", "from a import b\n"),
        ("try:\n    import a\nexcept E:\n    pass\n", "a", "try:\n    pass\nexcept E:\n    pass\n"),
        ("import a; b\n", "a", "b\n"),
    ],
)
def test_names_are_no_longer_imported(before: str, names: str, after: str) -> None:
    def change(source: SourceText) -> FixChange:
        statement = next(n for n in source.syntax_tree.body if not isinstance(n, ast.Expr))
        inner = statement.body[0] if isinstance(statement, ast.Try) else statement
        assert isinstance(inner, (ast.Import, ast.ImportFrom))
        return DropImports(inner, tuple(alias for alias in inner.names if alias.name == names))

    assert changed(before, change) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from a import b\n", "from new import b\n"),
        ("from a import b as c, d\n", "from new import b as c\nfrom a import d\n"),
        (
            "if x:\n    # why\n    from a import (d, b)  # two\n",
            "if x:\n    # why\n    from new import b\n    from a import (d)  # two\n",
        ),
        ("x; from a import b\n", "x; from new import b\n"),
    ],
)
def test_a_name_comes_from_elsewhere(before: str, after: str) -> None:
    def change(source: SourceText) -> FixChange:
        (statement,) = every(source, ast.ImportFrom)
        return Rebind(statement, next(a for a in statement.names if a.name == "b"), "new", "b")

    assert changed(before, change) == after


def test_what_libcst_cannot_read_is_not_rewritten() -> None:
    text = dedent("(x): int = f(a)\n")
    with pytest.raises(NoFix, match="cannot parse the statement on line 1"):
        changed(text, lambda source: replace(call(source, "f"), "{x}", x=call(source, "f").args[0]))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = old(y)", "x = y\nnew()"),
        ("x = old(y)  # why", "x = y  # why\nnew()"),
        ("def f():\r\n    x = old(y)", "def f():\r\n    x = y\r\n    new()"),
        ("x = old(y)\n", "x = y\nnew()\n"),
    ],
)
def test_a_statement_is_added_behind_a_last_line_that_changes(before: str, after: str) -> None:
    def change(source: SourceText) -> list[FixChange]:
        node, statement = call(source, "old"), every(source, ast.Assign)[0]
        return [replace(node, "{y}", y=node.args[0]), Insert(statement, template("new()"), after=True)]

    assert changed(before, change) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = 1\n\nf()\nf()\n\nb = 2\n", "a = 1\n\nb = 2\n"),
        ("a = 1\n\nf()\nf()\nb = 2\n", "a = 1\n\nb = 2\n"),
        ("a = 1\n\nf()  # one\n\n# two\nf()\n\nb = 2\nf()\n", "a = 1\n\n# one\n\n# two\n\nb = 2\n"),
    ],
)
def test_of_the_blank_lines_around_removed_statements_one_gap_stays(before: str, after: str) -> None:
    def remove(source: SourceText) -> list[FixChange]:
        return [Remove(one) for one in every(source, ast.Expr) if isinstance(one.value, ast.Call)]

    assert changed(before, remove) == after
