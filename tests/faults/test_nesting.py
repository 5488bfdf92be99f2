"""Code nested as deep as the parser lets it be, and deeper: it costs its own file at most, and little time."""

from __future__ import annotations

import ast
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support import CHECK, FIX, NEW, OLD, plant, run
from tests.support import check_text
from torchmigrate.run import parallel
from torchmigrate.semantics.name_resolution import NameResolver, ResolvedName

DEPTH = 5_000
USE = "torch.jit.annotate(int, 1)"

CODE = {
    "parentheses": f"x = {'(' * DEPTH}{USE}{')' * DEPTH}",
    "calls in calls": f"x = {'f(' * DEPTH}{USE}{')' * DEPTH}",
    "lists": f"x = {'[' * DEPTH}{USE}{']' * DEPTH}",
    "dicts": f"x = {'{1: ' * DEPTH}{USE}{'}' * DEPTH}",
    "f-strings": "x = " + 'f"{' * DEPTH + USE + '}"' * DEPTH,
    "attributes": f"x = {USE}{'.a' * DEPTH}",
    "methods": f"x = {USE}{'.f()' * DEPTH}",
    "items": f"x = {USE}{'[0]' * DEPTH}",
    "sums": f"x = {USE}{' + 1' * DEPTH}",
    "powers": f"x = {'1 ** ' * DEPTH}{USE}",
    "signs": f"x = {'-' * DEPTH}{USE}",
    "choices": f"x = {'a if b else ' * DEPTH}{USE}",
    "lambdas": f"x = {'lambda: ' * DEPTH}{USE}",
    "elif": "if a:\n  pass\n" + "elif b:\n  pass\n" * DEPTH + f"else:\n  x = {USE}",
    "if": "".join(f"{' ' * n}if a:\n" for n in range(1_000)) + " " * 1_000 + f"x = {USE}",
    "unions": f"x: {'int | ' * DEPTH}torch.jit.Final = 1",
}
"""Too deep for Python's parser or for the tool."""

FINE = {
    "parentheses": f"x = {'(' * 90}{USE}{')' * 90}",
    "if": "".join(f"{' ' * n}if a:\n" for n in range(90)) + " " * 90 + f"x = {USE}",
    "def": "".join(f"{' ' * n}def f():\n" for n in range(90)) + " " * 90 + f"x = {USE}",
    "dicts": f"x = {'{1: ' * 90}{USE}{'}' * 90}",
    "sums": f"x = {USE}{' + 1' * 200}",
    "wide": f"x = {'a or ' * 500}{USE}",
    "assignments": f"{'x = ' * 500}{USE}",
}
"""As deep as Python lets anybody write, and long without depth."""

MESSAGES = (
    "nested too deeply to parse",
    "nested too deeply to check",
    "too many nested parentheses",
    "too many levels of indentation",
    "f-string: expressions nested too deeply",
    "f-string: unterminated string",
    "f-string: expecting '}'",
)


def tree(folder: Path, code: dict[str, str]) -> Path:
    files = {f"{name}.py": f"import torch\n\n{text}\n".encode() for name, text in code.items()}
    return plant(folder, {**files, "z.py": OLD})


def test_what_is_nested_too_deeply_is_reported(tmp_path: Path) -> None:
    done = run(*FIX, "--output-format", "json", ".", folder=tree(tmp_path, CODE))
    assert done.status == 2
    assert set(done.errors) == {f"{name}.py" for name in CODE}
    assert {message for message in done.errors.values() if not message.startswith(MESSAGES)} == set()
    assert (tmp_path / "z.py").read_bytes() == NEW


def test_what_python_can_read_is_fixed(tmp_path: Path) -> None:
    done = run(*FIX, "--output-format", "json", ".", folder=tree(tmp_path, FINE))
    assert (done.status, done.errors) == (0, {})
    assert [name for name in FINE if b"annotate" in (tmp_path / f"{name}.py").read_bytes()] == []


def test_a_process_that_a_file_crashes_costs_that_file(tmp_path: Path) -> None:
    def crash() -> None:
        parallel.WORTHWHILE = 2
        parse = ast.parse

        def overflows(text: str, *arguments: Any, **named: Any) -> Any:
            if "lambda" in text:
                os.kill(os.getpid(), signal.SIGSEGV)
            return parse(text, *arguments, **named)

        ast.parse = overflows  # type: ignore[assignment]

    done = run(
        *CHECK, "--jobs", "2", "--output-format", "json", ".", folder=tree(tmp_path, CODE), before=crash
    )
    assert done.errors["lambdas.py"] == "the process that checked this file died; the file was not checked"
    assert set(done.errors) == {f"{name}.py" for name in CODE}
    others = {message for name, message in done.errors.items() if name != "lambdas.py"}
    assert {message for message in others if not message.startswith(MESSAGES)} == set()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.ipynb", '{"cells": ' + "[" * 100_000 + f'"{USE}"', "not a notebook: nested too deeply"),
        (
            "uv.lock",
            '[[package]]\nname = "torch"\nsource = ' + "[" * 100_000,
            "not valid TOML: it is nested too deeply",
        ),
    ],
)
def test_data_nested_too_deeply_is_reported(tmp_path: Path, name: str, text: str, message: str) -> None:
    plant(tmp_path, {name: text.encode(), "z.py": OLD})
    done = run(*FIX, "--output-format", "json", ".", folder=tmp_path)
    assert done.errors == {name: message}
    assert (tmp_path / "z.py").read_bytes() == NEW


def test_a_long_chain_is_not_followed_to_its_name_from_each_of_its_links(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    extend, number = NameResolver.extend_name, 0

    def counted(self: NameResolver, base: ResolvedName | None, suffix: str | None) -> ResolvedName | None:
        nonlocal number
        number += 1
        return extend(self, base, suffix)

    monkeypatch.setattr(NameResolver, "extend_name", counted)
    assert check_text(f"import torch\n\nx = {USE}{'.a' * 800}\n")
    looks = 2
    assert number < looks * 800 * 120
