"""Edits: which go together, what applying them gives, and what the proof lets pass."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchmigrate.model.findings import Edit, Fix
from torchmigrate.model.vocabulary import Safety
from torchmigrate.proof.edit_verification import verify_edits
from torchmigrate.text.source_reader import read_source
from torchmigrate.text.source_text import SourceError, SourceText
from torchmigrate.text.text_edits import VerifyError, apply_edits, merge_fix_edits, select_compatible


def fix(*edits: Edit) -> Fix:
    return Fix(edits, Safety.SAFE, "")


class TestApply:
    def test_edits_may_come_in_any_order(self) -> None:
        assert apply_edits(b"abc", [Edit(2, 3, "Z"), Edit(0, 1, "X")]) == b"XbZ"

    def test_insertions_at_one_place_keep_their_order_and_go_before_a_replacement(self) -> None:
        assert apply_edits(b"ab", [Edit(1, 2, "R"), Edit(1, 1, "1"), Edit(1, 1, "2")]) == b"a12R"

    @pytest.mark.parametrize("edits", [[Edit(0, 2, ""), Edit(1, 3, "")], [Edit(0, 9, "")], [Edit(2, 1, "")]])
    def test_what_cannot_be_applied_is_refused(self, edits: list[Edit]) -> None:
        with pytest.raises(ValueError, match=r"overlapping|outside"):
            apply_edits(b"abc", edits)


class TestSelect:
    IMPORT = Edit(0, 0, "import a\n")

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ([Edit(0, 2, "x")], [Edit(2, 4, "y")]),
            ([IMPORT, Edit(3, 4, "x")], [IMPORT, Edit(5, 6, "y")]),
            ([Edit(0, 0, "a()\n")], [Edit(0, 0, "b()\n")]),
            ([IMPORT], [Edit(0, 3, "x")]),
            ([Edit(3, 4, "x")], [Edit(3, 4, "x")]),
            ([Edit(3, 3, ", x")], [Edit(3, 3, ", x")]),
        ],
    )
    def test_these_go_together(self, one: list[Edit], other: list[Edit]) -> None:
        fixes = [fix(*one), fix(*other)]
        assert select_compatible(fixes) == (fixes, [])

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ([Edit(0, 3, "")], [Edit(2, 4, "")]),
            ([Edit(0, 3, "x")], [Edit(0, 3, "y")]),
            ([Edit(0, 0, "import a\n")], [Edit(0, 0, "\nfrom b import c\n")]),
            ([Edit(0, 3, "")], [Edit(1, 1, "y\n")]),
            ([Edit(0, 0, "f("), Edit(2, 2, ")")], [Edit(0, 0, "f("), Edit(4, 4, ")")]),
            ([Edit(0, 0, "f("), Edit(2, 2, ")")], [Edit(0, 0, "g("), Edit(2, 2, ")")]),
            ([Edit(0, 3, "x")], [Edit(3, 3, "y")]),
        ],
    )
    def test_of_these_the_first_goes(self, one: list[Edit], other: list[Edit]) -> None:
        assert select_compatible([fix(*one), fix(*other)]) == ([fix(*one)], [fix(*other)])

    def test_a_fix_goes_with_all_its_edits_or_not_at_all(self) -> None:
        first, both, last = fix(Edit(0, 1, "")), fix(Edit(0, 1, "x"), Edit(5, 6, "")), fix(Edit(5, 6, "y"))
        assert select_compatible([first, both, last]) == ([first, last], [both])

    def test_a_fix_at_odds_with_itself_never_goes(self) -> None:
        odd = fix(Edit(0, 2, ""), Edit(1, 3, ""))
        assert select_compatible([odd, fix()]) == ([], [odd, fix()])

    def test_shared_edits_are_made_once_and_in_order(self) -> None:
        one, other = fix(Edit(5, 6, "x"), self.IMPORT), fix(Edit(7, 8, "y"), self.IMPORT)
        assert merge_fix_edits([one, other]) == [self.IMPORT, Edit(5, 6, "x"), Edit(7, 8, "y")]

    @given(
        st.lists(
            st.lists(
                st.builds(
                    lambda start, length, text: Edit(start, start + length, text),
                    st.integers(0, 8),
                    st.integers(0, 3),
                    st.sampled_from(["", "a", "(", "x\n"]),
                ),
                max_size=3,
            ).map(lambda edits: fix(*edits)),
            max_size=5,
        )
    )
    def test_what_is_chosen_can_be_applied(self, fixes: list[Fix]) -> None:
        chosen, rejected = select_compatible(fixes)
        assert len(chosen) + len(rejected) == len(fixes)
        apply_edits(b"x" * 12, merge_fix_edits(chosen))


def edited(old: str, *replacements: tuple[str, str]) -> tuple[SourceText, SourceText, list[Edit]]:
    """``old`` with the first place of each text replaced; ``^`` in front inserts before it, ``$`` after it."""
    before = read_source("a.py", old.encode())
    edits = []
    for text, new in replacements:
        place = text.lstrip("^$") if len(text) > 1 else text
        start = before.text.index(place.encode())
        end = start + len(place.encode())
        if text != place:
            start = end = start if text[0] == "^" else end
        edits.append(Edit(start, end, new))
    return before, read_source("a.py", before.apply_edits(edits)), edits


class TestVerify:
    @pytest.mark.parametrize(
        ("old", "replacements"),
        [
            ("x = torch.jit.script(f)(y)\n", [("torch.jit.script", "torch.compile")]),
            ("x = torch.jit.script(f)(y)\n", [("torch.jit.script(f)", "f")]),
            ("x = torch.jit.script(f)(y)\n", [("torch.jit.script(", ""), (")", "")]),
            ("x = annotate(List[int], [])\n", [("annotate(List[int], ", ""), (")", "")]),
            ("x = a.b.c.d(e)\n", [("b.c", "z")]),
            ("x = a.b.c.d(e)\n", [("b.c.d", "z.w")]),
            ("f(a, b, c)", [("a, ", "")]),
            ("f(a, b, c)", [(", c", "")]),
            ("f(a, b, c)", [("a, b, c", "")]),
            ("f(a, b)", [("$b", ", k=1")]),
            ("f(a, k=b)", [("k=b", "j=c")]),
            ("f(a, k=b)", [("k=", "j=")]),
            ("x = f(k =\f b)\n", [("= f(k =", "="), (")", "")]),
            ("x = {a: b, **c}", [("a: b, ", "")]),
            ("x = {**c}", [("^**c", "a: b, ")]),
            ("if scripting() and x:\n    y\n", [("scripting() and ", "")]),
            ("if x:\n    y\n", [("^x", "z and ")]),
            ("if not x():\n    y\n", [("x()", "(z and x())")]),
            ("if not x():\n    y\n", [("^x", "(z and "), ("$x()", ")")]),
            ("if x:  # why\n    y\n", [("x", "(x or\n    z)")]),
            ("with a, b as c:\n    pass\n", [("a, ", "")]),
            ("a\nb\nc\n", [("b\n", "")]),
            ("a\nb\nc\n", [("b", "b\nd; e")]),
            ("a\nb\nc\n", [("^b", "import d\n")]),
            ("if x:\n    a\nb\n", [("    a", "    a\n    c")]),
            ("if x:\n    a\nb\n", [("^b", "    c\n")]),
            ("if x:\n    a\n    c\nb\n", [("    c\n", "")]),
            ("@a\n@b\ndef f():\n    '''d'''\n    # c\n    x\n", [("@a\n", "")]),
            ("@a\ndef f():\n    x\n", [("@a\n", "")]),
            ("def f(x: Final[int]) -> y: pass\n", [("Final[int]", "int")]),
            ("def f(x): pass\n", [("$)", " -> int")]),
            ("def f(x): pass\n", [("^def", "async ")]),
            ("def f(x): pass\n", [("f(", "g(")]),
            ("class A(ScriptModule, B):\n    x: int = 1\n", [("ScriptModule", "Module")]),
            ("class A(ScriptModule):\n    x: int = 1\n", [("(ScriptModule)", "")]),
            ("from a import b, c\nb()\n", [("b, ", "")]),
            ("from a import b\nb()\n", [("from a import b", "import c")]),
            ("import a\nb()\n", [("import a\n", "")]),
            ("'''doc'''\nimport a\n", [("^import", "import b\n")]),
            ("x = 'é' f'{torch.jit.y} é'\n", [("torch.jit.y", "z")]),
            ("for x in y: a; b\n", [("; b", "")]),
            ("x: a.Final = 1\n", [("a.Final", "Final")]),
            ("lambda x=a: x\n", [("=a", "=b")]),
            ("[x for x in a if b]\n", [(" if b", "")]),
            ("try:\n    a\nexcept b:\n    c\n", [("b", "(b, d)")]),
            ("match x:\n    case a.b():\n        c\n", [("a.b", "d")]),
            ("x = (\n    a,  # one\n    b,  # two\n)\n", [("a", "c")]),
            ("x = f(a  # one\n)\n", [("f(a  # one\n)", "a  # one")]),
            ("if is_scripting(): a\n", [("if is_scripting(): ", "")]),
            ("foo_bar(x)\n", [("_bar", "")]),
            ("def f():\n    return x\n", [("x", "(\n        x\n    )")]),
            ("import a\na.b(c)\n", [("^a.b", "import d\n"), ("a.b", "d.e")]),
            ("@a.b\ndef f(): pass\n", [("^@", "import d\n"), ("@a.b\n", "")]),
            ("x = 1\r\ny = 2\r\n", [("x = 1", "x = 1\nz = 3")]),
        ],
    )
    def test_an_edit_may_change_what_it_covers(self, old: str, replacements: list[tuple[str, str]]) -> None:
        verify_edits(*edited(old, *replacements))

    @pytest.mark.parametrize(
        ("old", "replacements"),
        [
            # Precedence.
            ("x = N + 1\n", [("N", "a if b else c")]),
            ("x = f(a + b) * c\n", [("f(", ""), (")", "")]),
            ("x = (a + b) * c\n", [("(", ""), (")", "")]),
            ("x = f(T, a if b else c).d\n", [("f(T, ", ""), (")", "")]),
            ("x = f(a, b + c)\n", [("f(", ""), (", ", " * "), (")", "")]),
            ("x = not f()\n", [("^f", "a and ")]),
            ("x = -N ** 2\n", [("N", "-a")]),
            ("x = N.real\n", [("N", "await a")]),
            ("x = a and N\n", [("$N", " or b")]),
            ("f(N)\n", [("N", "a, b")]),
            ("f(N, c)\n", [("N", "a for a in b")]),
            ("x = a < N\n", [("N", "b < c")]),
            ("x = lambda: N, 1\n", [("N", "a, b")]),
            ("x[N]\n", [("x", "lambda: x")]),
            # Neighbours eaten, joined, moved.
            ("x = 1\ny = 2\n", [("1\n", "1 # ")]),
            ("x = 1  # why\ny = 2\n", [("# why\n", "")]),
            ("x = ['a', N, 'b']\n", [(", N,", "")]),
            ("x = ['a', 'b', c]\n", [(", 'b'", " 'b'")]),
            ("f(N, b)\n", [("N", "a  # c")]),
            ("import a\nfoo()\n", [("import a\n", "import b")]),
            ("foo()\n", [("^foo", "x")]),
            ("foo()\n", [("^foo", "'''"), ("$)", "'''")]),
            ("if x:\n    a\n    b\n", [("\n    b", "\nb")]),
            ("if x:\n    a\n    b\nc\n", [("    b", "b")]),
            ("if x:\n    a\nb\n", [("^b", "    ")]),
            ("if x:\n    a\n    b\n", [("^    b", "else:\n")]),
            ("a\nb\n", [("^b", "if c: ")]),
            ("a\nb\n", [("^b", "if c:\n    ")]),
            ("if x:\n    if y: N\nelse:\n    b\n", [("    if y: N\n", "    a\nif y: N\n")]),
            ("def f():\n    N\n    return x\n", [("N", "pass\ndef g():\n    pass")]),
            ("x = y\n", [("=", "==")]),
            ("x = f'{N}'\n", [("N", "a}{b")]),
            ("x = f'{N=}'\n", [("N", "a")]),
            # Docstrings and __future__.
            ("'''doc'''\na\n", [("^'''doc", "import b\n")]),
            ("import a\n'''text'''\n", [("import a\n", "")]),
            ("from __future__ import annotations\n", [("^from", "import b\n")]),
            ("def f():\n    return N\n", [("N", "(yield from x)\n\nawait a\nreturn b")]),
            # Comments.
            ("x = f(a,  # one\n  b)\n", [("f(a,  # one\n  b)", "g(a, b)")]),
            ("a  # one\nb  # one\n", [("a  # one\nb  # one", "a  # one\nb")]),
        ],
    )
    def test_an_edit_must_not_change_what_lies_around_it(
        self, old: str, replacements: list[tuple[str, str]]
    ) -> None:
        with pytest.raises(VerifyError):
            verify_edits(*edited(old, *replacements))

    def test_neighbouring_statements_may_go_with_one_edit_each(self) -> None:
        before = read_source("a.py", b"a\nb\nc\n")
        edits = [Edit(0, 2, ""), Edit(2, 4, ""), Edit(4, 4, "d\n")]
        verify_edits(before, read_source("a.py", before.apply_edits(edits)), edits)

    def test_the_place_is_that_of_the_neighbour_before(self) -> None:
        with pytest.raises(VerifyError, match="meaning of the enclosing BinOp") as caught:
            verify_edits(*edited("a\nx = N + 1\n", ("N", "b if c else d")))
        assert (caught.value.line, caught.value.column) == (2, 5)

    def test_the_result_must_be_what_the_edits_give(self) -> None:
        source = read_source("a.py", b"x = 1\n")
        with pytest.raises(VerifyError, match="would not parse as intended"):
            verify_edits(source, read_source("a.py", b"x  = 1\n"), [])

    def test_an_edit_must_not_change_the_encoding(self) -> None:
        before = read_source("a.py", b"# coding: latin-1\nx\n")
        edits = [Edit(0, 0, "import a\nimport b\n")]
        with pytest.raises(VerifyError, match="would not parse as intended"):
            verify_edits(before, read_source("a.py", before.apply_edits(edits)), edits)

    def test_a_result_that_does_not_parse_is_refused(self) -> None:
        with pytest.raises(VerifyError, match="does not parse"):
            verify_edits(*edited("f(x)\n", ("x", "(")))

    def test_no_edit_changes_nothing(self) -> None:
        verify_edits(*edited("x = 1\n"))


EXPRESSIONS = st.recursive(
    st.sampled_from(["a", "b.c", "1", "'s'", "f()", "N"]),
    lambda inner: st.one_of(
        st.builds("{} + {}".format, inner, inner),
        st.builds("({} * {})".format, inner, inner),
        st.builds("not {}".format, inner),
        st.builds("{} if {} else {}".format, inner, inner, inner),
        st.builds("f({}, {})".format, inner, inner),
        st.builds("[{}]".format, inner),
        st.builds("({}).d".format, inner),
        st.builds("lambda: {}".format, inner),
        st.builds("{} and {}".format, inner, inner),
    ),
    max_leaves=8,
)


@given(program=EXPRESSIONS, text=EXPRESSIONS)
def test_a_replacement_passes_only_if_parentheses_around_it_change_nothing(program: str, text: str) -> None:
    """The proof by another way: an expression means itself if it means the same in parentheses."""
    import ast

    if program.count("N") != 1:
        return
    old = f"x = {program}\n"
    try:
        ast.parse(old)
        expected = ast.dump(ast.parse(old.replace("N", f"({text})")))
        actual = ast.dump(ast.parse(old.replace("N", text)))
    except SyntaxError:
        return
    try:
        verify_edits(*edited(old, ("N", text)))
        verified = True
    except (VerifyError, SourceError):
        verified = False
    assert verified == (expected == actual)


class TestWindows:
    """Only the top-level statements around an edit are compared; the others must begin and end where they did."""

    @pytest.mark.parametrize(
        ("old", "replacement"),
        [
            ("x = N\ny = '''a'''\nz = 1\n", ("N", "'''")),
            ("x = 1\n# N\ny = 2\n", ("# N\n", "if x:\n    ")),
            ("x = 1\nN\ny = 2\n", ("N", "class A:")),
            ("a = 1\nx = N\nb = 2\n", ("N", "\\")),
            ("a = 1\nx = N\n(b)\n", ("N\n", "f")),
            ("@a\nN\ndef f(): ...\n", ("N\n", "x = 1\n")),
        ],
    )
    def test_an_edit_that_reaches_over_its_statement_is_refused(
        self, old: str, replacement: tuple[str, str]
    ) -> None:
        with pytest.raises(VerifyError):
            verify_edits(*edited(old, replacement))

    def test_the_place_of_an_error_is_that_of_the_file(self) -> None:
        old = "import a\n\n\ndef f():\n    pass\n\n\nx = f(N)  # lost\n"
        with pytest.raises(VerifyError) as caught:
            verify_edits(*edited(old, ("N)  # lost", "1)")))
        assert (caught.value.line, caught.value.column) == (8, 11)

    def test_edits_far_apart_are_verified_apart(self) -> None:
        old = "import N\n\n\n" + "def f():\n    return 1\n\n\n" * 50 + "x = M\n"
        verify_edits(*edited(old, ("N", "aa"), ("M", "bb")))


def test_findings_that_one_rewrite_mends_go_together() -> None:
    """Half a pair of brackets is shared by the same fix only."""
    wrap = (Edit(2, 2, "save("), Edit(4, 4, ")"))
    one, same = Fix(wrap, Safety.UNSAFE, "one"), Fix(wrap, Safety.UNSAFE, "the same")
    other = Fix((*wrap, Edit(9, 9, "x")), Safety.UNSAFE, "another")
    chosen, rejected = select_compatible([one, same, other])
    assert chosen == [one, same]
    assert rejected == [other]
    assert merge_fix_edits(chosen) == list(wrap)


def test_a_decorator_may_stand_below_its_sign() -> None:
    text = b"a = 1\n@ \\\nf(1)\ndef g():\n    pass\n"
    edit = Edit(4, 5, "2")
    verify_edits(read_source("a.py", text), read_source("a.py", text.replace(b"a = 1", b"a = 2")), [edit])
