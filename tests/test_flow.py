"""Which reads of a variable see which assignment."""

from __future__ import annotations

import ast
import textwrap

import pytest

from torchmigrate.semantics.dataflow import DataFlow, ValueEscapes, returns_value
from torchmigrate.semantics.scope_builder import ModuleScopes


def lines_of(text: str, name: str = "v") -> list[int]:
    """The lines that read the value of the first call of ``make`` in the function ``f``."""
    scopes = ModuleScopes(ast.parse(textwrap.dedent(text)))
    flow = DataFlow(scopes)
    scope = next(s for s in scopes.all if getattr(s.node, "name", "") == "f")
    call = next(n for n in ast.walk(scope.node) if isinstance(n, ast.Call) and ast.unparse(n.func) == "make")
    return sorted(place.lineno for place in flow.find_value_places(call, scope))


def test_reads_up_to_the_next_assignment() -> None:
    assert lines_of("def f():\n v = make()\n a(v)\n v = 1\n b(v)\n") == [3]


def test_the_name_may_have_been_a_parameter() -> None:
    assert lines_of("def f(v):\n a(v)\n v = make(v)\n b(v)\n") == [4]


def test_a_value_that_is_used_at_once() -> None:
    assert lines_of("def f():\n return make()\n") == [2]


def test_another_name_for_it() -> None:
    assert lines_of("def f():\n v = make()\n w = v\n a(w)\n b(v)\n") == [4, 5]


def test_a_loop_reads_what_its_last_round_assigned() -> None:
    assert lines_of("def f():\n v = None\n while x:\n  a(v)\n  v = make()\n") == [4]


def test_a_placeholder_is_no_other_value() -> None:
    assert lines_of("def f():\n v = None\n if x:\n  v = make()\n a(v)\n") == [5]


def test_not_assigned_on_one_way_is_no_other_value() -> None:
    assert lines_of("def f():\n if x:\n  v = make()\n a(v)\n") == [4]


def test_what_returns_does_not_go_on() -> None:
    assert lines_of("def f(v):\n if x:\n  return v\n else:\n  v = make()\n a(v)\n") == [6]


def test_a_handler_may_see_what_its_block_assigned() -> None:
    assert lines_of("def f():\n try:\n  v = make()\n  a(v)\n except E:\n  b(v)\n") == [4, 6]


def test_a_closure_reads_it_too() -> None:
    assert lines_of("def f():\n v = make()\n def g():\n  return v\n return g()\n") == [4]


def test_a_closure_does_not_read_what_was_replaced_before_it() -> None:
    assert lines_of("def f():\n v = make()\n v = 1\n def g():\n  return v\n") == []


def test_a_comprehension_has_a_variable_of_its_own() -> None:
    assert lines_of("def f():\n v = make()\n [v for v in x]\n a(v)\n") == [4]


@pytest.mark.parametrize(
    "body",
    [
        "if x:\n  v = make()\n else:\n  v = 1\n a(v)",
        "v = make()\n while x:\n  a(v)\n  v = 1",
        "global v\n v = make()",
        "v = make()\n def g():\n  nonlocal v\n  v = 1\n a(v)",
        "v = make()\n def g():\n  return v\n v = 1",
        "v = make()\n (v := 1)\n a(v)",
    ],
)
def test_what_may_be_another_value_escapes(body: str) -> None:
    with pytest.raises(ValueEscapes):
        lines_of(f"def f():\n {body}\n")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "if x:\n  v = make()\n else:\n  v = 1\n a(v)",
            "the only possible value of `v` on line 6, which may also come from line 5",
        ),
        ("if x:\n  v = make()\n else:\n  v = 1\n a(v)\n return v", "is returned, and"),
        ("if x:\n  v = make()\n else:\n  v = 1\n a(v)\n return [x, v]", "is returned, and"),
    ],
)
def test_an_escape_says_what_becomes_of_the_value(body: str, reason: str) -> None:
    with pytest.raises(ValueEscapes, match=reason):
        lines_of(f"def f():\n {body}\n")


@pytest.mark.parametrize("text", ["return v, 1", "return v if x else None", "yield [1, *(v or w)]"])
def test_a_part_of_what_is_returned_is_returned(text: str) -> None:
    flow = DataFlow(ModuleScopes(tree := ast.parse(f"def f():\n {text}\n g(v)\n return 1 if v else w(v)\n")))
    reads = sorted(
        (n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == "v"), key=lambda n: n.lineno
    )
    assert [returns_value(read, flow.parents) for read in reads] == [True, False, False, False]


def test_what_is_kept_elsewhere_is_where_it_goes() -> None:
    assert lines_of("def f(self):\n self.v = make()\n") == [2]


def test_definition() -> None:
    tree = ast.parse("x = 1\ny = x\nx = 2\nz = x\n")
    flow = DataFlow(scopes := ModuleScopes(tree))
    reads = [
        n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == "x" and isinstance(n.ctx, ast.Load)
    ]
    values = [flow.find_definition(read, scopes.module) for read in sorted(reads, key=lambda n: n.lineno)]
    assert [ast.unparse(value) for value in values if value is not None] == ["1", "2"]


def test_repeated() -> None:
    tree = ast.parse("v = make()\nfor _ in x:\n v()\nv(1)\n")
    flow = DataFlow(ModuleScopes(tree))
    make, often, once = sorted((n for n in ast.walk(tree) if isinstance(n, ast.Call)), key=lambda n: n.lineno)
    assert flow.is_repeated(often, make)
    assert not flow.is_repeated(once, make)
