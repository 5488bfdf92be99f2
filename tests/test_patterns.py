"""Patterns of ``.gitignore`` mean what they mean to git, and none of them takes long or warns."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from torchmigrate.project import file_search
from torchmigrate.project.ignore_patterns import IgnorePatterns

TREE = ("a", "b.py", "ab/a", "ab/b.py", "a-b/]/a", "lib/ab/a/b", "lib/b.py", "z", "lib/é.py", "ab/[", "A")
PIECES = ["a", "b", "ab", "*", "**", "/", "/", ".py", "?", "[ab]", "[!a]", "[^b-z]", "[a-", "[z-a]", "[]a]"]
PIECES += [
    "\\",
    "\\*",
    "lib",
    "**/",
    "/**",
    "[[:alpha:]]",
    "[[:alpha:]",
    "[[:nope:]]",
    "[a\\]]",
    "!",
    "#",
    " ",
    "é",
]
PIECES += ["[[:", "[/]", "[b-]", "[a-c-z]", "***", "z", "-", "]", "[\\", "[[:punct:]x]"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is the judge")
def test_random_patterns_mean_what_git_says(tmp_path: Path) -> None:
    chance = random.Random(20)
    cases = [list(lines(chance)) for _ in range(300)]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    asked = []
    for number, case in enumerate(cases):
        for file in TREE:
            path = tmp_path / str(number) / file
            if not path.exists() and not path.parent.is_file():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch()
        (tmp_path / str(number) / ".gitignore").write_text("\n".join(case) + "\n", "utf-8")
        asked += [f"{number}/{path}" for path in entries(tmp_path / str(number))]
    judged = subprocess.run(
        ["git", "-c", "core.excludesFile=", "check-ignore", "-z", "--stdin", "--no-index"],
        cwd=tmp_path,
        input="\0".join(asked).encode(),
        capture_output=True,
        check=False,
    ).stdout
    ignored = set(os.fsdecode(judged).split("\0"))
    compiled = [IgnorePatterns(case) for case in cases]
    wrong = []
    for entry in asked:
        folder, _, name = entry.partition("/")
        said = bool(compiled[int(folder)].judge_path(name, (tmp_path / entry).is_dir()))
        if said != (entry in ignored):
            wrong.append((cases[int(folder)], name, said))
    assert wrong == []
    assert len(ignored) > 300


def lines(chance: random.Random) -> Iterator[str]:
    for _ in range(chance.randint(1, 3)):
        line = "".join(chance.choices(PIECES, k=chance.randint(1, 5)))
        # Where git compares "a" first, its "a**/" means something else.
        if not re.search(r"[^/*]\*\*+/", line):
            yield line


def entries(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.name != ".gitignore"]


@pytest.mark.parametrize(
    "pattern",
    [
        "*a*a*a*a*a*a*a*a*a*a*a*b",
        "**/a*/**/a*/**/a*/**/a*/**/a*/**/b",
        "/**/*a*/**/*a*/**/*a*/**/*a*/**/b",
        "*?*?*?*?*?*?*?*?*?*?b",
        "*[a]*[a]*[a]*[a]*[a]*[a]*b",
        "**/**/**/**/**/**/b",
        "a*/a*/a*/a*/a*/a*/b",
        "*" * 2000 + "b",
    ],
)
def test_no_pattern_takes_long(pattern: str) -> None:
    paths = ["a" * 3000 + ".py", "/".join(["a" * 20] * 100)]
    patterns = IgnorePatterns([pattern])
    begin = time.process_time()
    assert [patterns.judge_path(path, False) for path in paths] == [None, None]
    assert time.process_time() - begin < 2


MALFORMED = ["[", "a[", "[a", "[!", "[^", "[]", "[a-", "[[:alpha:]", "[[:nope:]]", "a\\", "[\\", "[[:alpha:"]


@pytest.mark.parametrize("pattern", [*MALFORMED, "[z-a]", "[[a]", "[a--b]", "[a&&b]", "[a||b]", "[a~~b]"])
def test_a_pattern_that_means_nothing_raises_nothing_and_warns_of_nothing(pattern: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        patterns = IgnorePatterns(["*.pyc", pattern, "old/"])
        assert patterns.judge_path("old/a.py", False)
        assert patterns.judge_path("new/a.py", False) is None
    assert [number for number, *_ in patterns.malformed] == ([2] if pattern in MALFORMED else [])


def test_a_malformed_pattern_is_said_once_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("# ours\n[[:alpha:]\nold.py\n")
    for name in ("a/new.py", "b/old.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    found = file_search.find_files(["a", "b", "."])
    assert [one.path for one in found.inputs] == ["a/new.py"]
    assert [(error.path, error.line) for error in found.errors] == [(".gitignore", 2)]
    assert "`[[:alpha:]` matches nothing: its bracket is not closed" in found.errors[0].message
