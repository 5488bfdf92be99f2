"""Lines that a change makes too long are broken as black breaks them."""

from __future__ import annotations

import ast
import subprocess
import sys
from textwrap import dedent

import pytest

from tests.rewrite.support import call, changed, every
from torchmigrate.model.findings import FixChange
from torchmigrate.rewrite.changes import AddArgument, DropArguments, replace, template
from torchmigrate.text.source_text import SourceText


def longer(source: SourceText) -> FixChange:
    """``f(…)`` with another argument of 40 characters."""
    return AddArgument(call(source, "f"), template("w" * 40), "k")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # What fits on one line stands on one.
        (
            f"y = f({'a' * 30}, 1).module()(z)\n",
            f"y = f(\n    {'a' * 30}, 1, k={'w' * 40}\n).module()(z)\n",
        ),
        # What does not stands on a line each, with a comma behind.
        (
            f"y = f({'a' * 44}, 1)\n",
            f"y = f(\n    {'a' * 44},\n    1,\n    k={'w' * 40},\n)\n",
        ),
        # So does what ends in a comma already.
        (
            f"y = f({'a' * 44}, 1,)\n",
            f"y = f(\n    {'a' * 44},\n    1,\n    k={'w' * 40},\n)\n",
        ),
        # A comment stays behind the statement.
        (
            f"def g():\n    return f({'a' * 30}, 1)  # {'c' * 9}\n",
            f"def g():\n    return f(\n        {'a' * 30}, 1, k={'w' * 40}\n    )  # {'c' * 9}\n",
        ),
        # The statement is nothing but the call; its line is a part of another one.
        (
            f"def g():\n    f({'a' * 36})  # c\n",
            f"def g():\n    f(\n        {'a' * 36}, k={'w' * 40}\n    )  # c\n",
        ),
        (
            f"d = {{\n    'a': f({'a' * 36}),\n}}\n",
            f"d = {{\n    'a': f(\n        {'a' * 36}, k={'w' * 40}\n    ),\n}}\n",
        ),
        # So does what stood on a line of its own and no longer fits.
        (
            f"y = f(\n    {'a' * 44}, 1\n)\n",
            f"y = f(\n    {'a' * 44},\n    1,\n    k={'w' * 40},\n)\n",
        ),
        (
            f"y = f(\n    1, *{'a' * 20}\n)\n",
            f"y = f(\n    1, *{'a' * 20}, k={'w' * 40}\n)\n",
        ),
        # Inside of an f-string nothing breaks.
        (f"y = f'{{f({'a' * 40})}}'\n", f"y = f'{{f({'a' * 40}, k={'w' * 40})}}'\n"),
    ],
)
def test_a_long_call(before: str, after: str) -> None:
    assert changed(before, longer) == after


def test_what_is_long_inside_is_broken_too() -> None:
    def change(source: SourceText) -> FixChange:
        found = call(source, "f")
        return replace(found, "save({x}, path)", x=found)

    before = f"""\
    def g():
        f({"a" * 40}, {"b" * 34})
    """
    after = f"""\
    def g():
        save(
            f({"a" * 40}, {"b" * 34}),
            path,
        )
    """
    assert changed(before, change) == dedent(after)


def test_lines_that_were_long_before_stay() -> None:
    def change(source: SourceText) -> FixChange:
        node = call(source, "f").func
        assert isinstance(node, ast.Name)
        return replace(node, "module.f")

    before = f"y = f(1) + g({'a' * 80}, 2)\n"
    assert changed(before, change) == f"y = module.f(1) + g({'a' * 80}, 2)\n"


@pytest.mark.parametrize(
    "before",
    [
        "f(\n    g(\n        {a},\n        {b},\n    )[0, 1],\n    2,\n)\n",
        "if c:\n    f(\n        g(\n            {a},\n            {b},\n        ).item(),\n        2,\n    )\n",
        "x = f(\n    2,\n    [\n        {a},\n        {b},\n    ],\n)\n",
        "if c:\n    f(\n        g({a}, {b}),\n        2,\n    )\n",
    ],
)
def test_a_call_written_anew_has_the_lines_of_a_formatter(before: str) -> None:
    def wrap(source: SourceText) -> FixChange:
        source.line_length = 88
        code = "a_new_name(wrapped({first}), wrapped({second}), with_one=1e-5, and_another=True)"
        first, second = call(source, "f").args
        return replace(call(source, "f"), code, first=first, second=second)

    before = before.replace("{a}", "a" * 33).replace("{b}", "b" * 33)
    after = changed(before, wrap)
    assert "wrapped(" in after
    assert after == format_code(after)


def test_a_line_too_long_for_every_formatter_may_grow_a_little() -> None:
    before = f"y = f({'a' * 150}, g(b))\n"
    after = changed(before, lambda source: replace(call(source, "g"), "a_longer_name(b)"))
    assert after == f"y = f({'a' * 150}, a_longer_name(b))\n"
    assert changed(before, longer).count("\n") > 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = f(\n    T,\n    [\n        1,\n    ],\n)\n", "x = [\n    1,\n]\n"),
        ("x = f(T, [\n    1,\n])\n", "x = [\n    1,\n]\n"),
        (
            "if c:\n    g(\n        f(\n            T,\n            {\n                # c\n                1: 2,\n            },\n        )\n    )\n",
            "if c:\n    g(\n        {\n            # c\n            1: 2,\n        }\n    )\n",
        ),
    ],
)
def test_an_argument_in_the_place_of_its_call_moves_to_the_left(before: str, after: str) -> None:
    def unwrap(source: SourceText) -> FixChange:
        found = call(source, "f")
        return replace(found, "{value}", value=found.args[1])

    assert changed(before, unwrap) == after


SHORT, LONG = "is_capturing()", "torch.cuda.is_initialized() and torch.cuda.current_stream().is_capturing()"


@pytest.mark.parametrize(
    "before",
    [
        "if {}:\n    pass\n",
        "class A:\n    def f(self):\n        if {}:  # why\n            return {}\n        elif not {}:\n            pass\n",
        "def f(a):\n    while a.is_cuda and {}:\n        x = {}\n        assert {}, 'why'\n",
        "class A:\n    def f(self, a):\n        if a.is_some.attribute_with_a_name or not {}:\n            g = lambda: {}\n",
        "x = {} and first_of_two_long_names.attribute_of_it and second.is_capturing()\n",
        "f(\n    'a', shapes=({}, 1), others=[{}, {}], and_a_third_one_with_a_name=1, fourth=fourth\n)\n",
        "f(\n    'a',\n    shapes=({}, 1),\n    others=[{}, {}],\n)\n",
        "def f(a):\n    a.shapes = {'first': {}, 'second': 2}\n    return {'first', {}, {}}  # why\n",
        "x = [f({}), 1]\n",
    ],
)
def test_what_a_formatter_wrote_stays_as_it_would_write_it(before: str) -> None:
    def change(source: SourceText) -> list[FixChange]:
        source.line_length = 88
        found = [node for node in every(source, ast.Call) if source.get_segment(node) == SHORT]
        return [replace(node, LONG) for node in found]

    before = format_code(before.replace("{}", SHORT))
    after = changed(before, change)
    assert LONG.split()[0] in after
    assert after == format_code(after)


def test_a_call_is_broken_where_the_last_brackets_open_too_late() -> None:
    def change(source: SourceText) -> FixChange:
        source.line_length = 88
        found = call(source, "norm")
        return replace(found, "linalg.vector_norm({x}, {y})", x=found.args[0], y=found.args[1])

    before = format_code(
        "y = norm(outputs['background']['first'], other) ** 2 + sum(outputs['background']['second'], dim=-1)"
    )
    after = changed(before, change)
    assert after == format_code(after) != before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"y = f(\n    {'a' * 60}, k={'w' * 20}\n)\n", f"y = f({'a' * 60})\n"),
        (f"y = f(\n    {'a' * 60}, 1, k={'w' * 20}\n).g()  # c\n", f"y = f({'a' * 60}, 1).g()  # c\n"),
        (
            f"y = f(\n    {'a' * 60}, 1, k={'w' * 20}\n).{'g' * 30}()\n",
            f"y = f(\n    {'a' * 60}, 1\n).{'g' * 30}()\n",
        ),
        (f"y = f(\n    {'a' * 60},\n    1,\n    k={'w' * 20},\n)\n", f"y = f(\n    {'a' * 60},\n    1,\n)\n"),
    ],
)
def test_a_call_that_fits_again_is_joined(before: str, after: str) -> None:
    def shorten(source: SourceText) -> FixChange:
        source.line_length = 88
        found = call(source, "f")
        return DropArguments(found, (found.keywords[0],))

    assert changed(before, shorten) == after


def format_code(code: str) -> str:
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "88", "-"]
    return subprocess.run(command, input=code, capture_output=True, text=True, check=True).stdout
