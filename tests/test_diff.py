"""Unified diffs: exact, small, and not slow where lines are alike."""

from __future__ import annotations

import subprocess
from pathlib import Path

import click
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counted_work import measure_doubling
from torchmigrate.console.unified_diff import create_unified_diff, escape_diff

LINES = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\n", b"\n", b"a\r\n", b"e"]), max_size=12).map(
    b"".join
)


def patched(before: bytes, diff: bytes, folder: Path) -> bytes:
    (folder / "f").write_bytes(before)
    subprocess.run(["git", "apply", "-p0", "--whitespace=nowarn", "-"], cwd=folder, input=diff, check=True)
    return (folder / "f").read_bytes()


@given(LINES, LINES)
@settings(max_examples=60, deadline=None)
def test_the_diff_makes_one_of_the_other(tmp_path_factory, before: bytes, after: bytes) -> None:  # type: ignore[no-untyped-def]
    diff = create_unified_diff("f", before, after)
    assert bool(diff) == (before != after)
    if diff and before and after:  # git takes an empty file for one that is deleted or made
        assert patched(before, diff, tmp_path_factory.mktemp("diff")) == after


def test_lines_that_move_are_few() -> None:
    before = b"".join(b"@same\ndef f%d():\n    return\n\n\n" % i for i in range(200))
    diff = create_unified_diff("f", before, before.replace(b"@same\n", b""))
    assert sum(line.startswith(b"-") for line in diff.splitlines()) == 201
    assert sum(line.startswith(b"+") for line in diff.splitlines()) == 1


def test_the_work_grows_with_the_lines_that_are_alike_only() -> None:
    def create(number: int) -> None:
        before = b"".join(b"@same\ndef f%d():\n    return\n\n\n" % i for i in range(number))
        create_unified_diff("f", before, before.replace(b"@same\n", b""))

    assert measure_doubling(create, 1000) < 2.2


def test_colors_tell_removed_lines_from_added_ones() -> None:
    diff = create_unified_diff("f", b"a\nb\n", b"a\nc\n")
    colored = escape_diff(diff, color=True).splitlines()
    assert [line for line in colored if click.unstyle(line) == "-b"] == [click.style("-b", fg="red")]
    assert [line for line in colored if click.unstyle(line) == "+c"] == [click.style("+c", fg="green")]
    assert [click.unstyle(line) for line in colored] == diff.decode().splitlines()


def test_a_line_that_occurs_once_stays_where_it_is() -> None:
    before = b"one\n" + b"x\n" * 3 + b"twice\ntwice\n"
    after = b"x\n" * 3 + b"one\ntwice\ntwice\n"
    lines = create_unified_diff("f", before, after).decode().splitlines()[3:]
    assert lines == ["+x", "+x", "+x", " one", "-x", "-x", "-x", " twice", " twice"]
