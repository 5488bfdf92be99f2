"""Nothing that the project or the command line holds reaches a terminal as anything but text.

The program has a terminal of its own here, so that it writes what a user would get: colours and hyperlinks, and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import re
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.support import OLD, Program, plant
from torchmigrate.console import terminal
from torchmigrate.run.file_checker import FileChecker

EVIL = "\x1b]0;t\x07\x1b[2J\r\x08\x9b31m\u202e\u2066\u061c\u200f\ufeff\x7f\U000e0041"
NAME = f"e{EVIL}\udcff\n.py".replace("/", "")
SEEN = EVIL.replace("\r", "")  # which would end the comment
CODE = f"import torch\n\nx = torch.jit.annotate(int, 1)  # {SEEN}\n"
OURS = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;;[!-~]*\x1b\\")
"""Colours and hyperlinks."""


def shown(
    *arguments: str, folder: Path, typed: bytes = b"", before: Callable[[], object] | None = None
) -> str:
    """What a terminal is sent, without colours and hyperlinks."""
    ours, theirs = os.openpty()
    settings = termios.tcgetattr(theirs)
    settings[1] &= ~termios.OPOST
    settings[3] &= ~termios.ECHO
    termios.tcsetattr(theirs, termios.TCSANOW, settings)

    def start() -> None:
        for number in range(3):
            os.dup2(theirs, number)
        os.environ.update(TERM="xterm", NO_COLOR="")
        terminal.ProgressBar.DELAY = 1e9
        if before is not None:
            before()

    program = Program(*arguments, folder=folder, before=start)
    os.close(theirs)
    os.write(ours, typed)
    parts = []
    with contextlib.suppress(OSError):  # how a terminal says that nobody is there any more
        while part := os.read(ours, 1 << 16):
            parts.append(part)
    os.close(ours)
    assert program.wait().status in (0, 1, 2)
    return OURS.sub("", b"".join(parts).decode())


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree in which everything that can be hostile is: the folder's name, the names in it, the code."""
    files = {
        NAME: CODE.encode(),
        f"{NAME}i": b"torch.jit.script(" + EVIL.encode(),
        "p/requirements.txt": b"torch>=2.1\n",
    }
    files[f"{NAME}.ipynb"] = b"{" + EVIL.encode() + b" torch"
    tree = plant(tmp_path / NAME, files)
    (tree / f"link{EVIL}.py").symlink_to("nothing")
    return tree


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "--show", "info", "--verbose"],
        ["check", "--show", "info", "--output-format", "concise"],
        ["check", "--show", "info", "--output-format", "github"],
        ["check", "--output-format", "json"],
        ["check", "--output-format", "sarif"],
        ["check", "--statistics"],
        ["plan"],
        ["plan", "--output-format", "md"],
        ["plan", "--output-format", "html"],
        ["plan", "--output-format", "json"],
        ["check", "--color", "always", f"missing{EVIL}.py"],
        ["fix", "--unsafe"],
        ["fix", "--unsafe", "--color", "never"],
        ["fix", "--unsafe", "--apply", "--verbose"],
        ["fix", "--unsafe", "--interactive"],
    ],
    ids=lambda arguments: " ".join(arguments[:4]).encode("ascii", "replace").decode(),
)
def test_the_tree_is_shown_as_text(tree: Path, arguments: list[str]) -> None:
    text = shown(*arguments, ".", folder=tree, typed=b"y\n" * 5)
    assert_harmless(text)
    assert "1b" in text.lower() or "--statistics" in arguments
    assert any(found in text for found in ("torch.jit.annotate", "TS154", "1 fixed"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", EVIL],
        ["check", f"--{EVIL}"],
        ["check", "--select", EVIL],
        ["check", "--fail-on", EVIL],
        ["check", "--per-file-ignores", EVIL],
        ["check", "--config", f"{EVIL}.toml"],
        ["check", "-o", f"no/{EVIL}"],
        ["check", "--min-version", EVIL],
        ["probe", "--facts", f"{EVIL}.json"],
        [EVIL],
    ],
    ids=lambda arguments: " ".join(arguments).encode("ascii", "replace").decode(),
)
def test_the_command_line_is_quoted_as_text(tmp_path: Path, arguments: list[str]) -> None:
    text = shown(*arguments, folder=tmp_path)
    assert_harmless(text)
    assert "\\x1b" in text


@pytest.mark.parametrize(
    "content",
    [
        '"\\u001b[2J\\n" = 1',
        'select = ["\\u001b[2J"]',
        'fail-on = "\\u001b]0;\\u0007\\u202e"',
        'target-version = "\\u001b\\n"',
        'extend = "\\u001b\\u0007.toml"',
        f"# {EVIL}\n",
        f"{EVIL} = 1",
        f"x = '{EVIL}",
    ],
)
def test_a_configuration_is_quoted_as_text(tmp_path: Path, content: str) -> None:
    plant(tmp_path, {"torchmigrate.toml": content.encode()})
    text = shown("check", "--verbose", ".", folder=tmp_path)
    assert_harmless(text)
    assert len(text.splitlines()) == 1


def test_a_minimum_version_is_said_with_its_place_as_text(tmp_path: Path) -> None:
    folder = plant(tmp_path / "p", {f"{NAME}/requirements.txt": b"torch>=2.3\n"})
    text = shown("check", NAME, folder=folder)
    assert_harmless(text)
    assert "torch 2.3 (e\\x1b" in text


@pytest.mark.parametrize("verbose", [False, True])
def test_a_fault_is_told_as_text(tmp_path: Path, verbose: bool) -> None:
    plant(tmp_path, {"a.py": OLD})

    def break_down() -> None:
        def look(*_: object, **__: object) -> None:
            raise RuntimeError(f"{EVIL}\n{EVIL}")

        FileChecker.check_file = look  # type: ignore[assignment, method-assign]

    text = shown("check", *["--verbose"] * verbose, ".", folder=tmp_path, before=break_down)
    assert_harmless(text)
    assert "Error: a fault in torchmigrate (RuntimeError" in text
    assert ("Traceback" in text) == verbose
    assert verbose or len(text.splitlines()) == 2


def assert_harmless(text: str) -> None:
    """Only printable characters, tabs and line ends."""
    assert [line for line in text.split("\n") if not line.replace("\t", "").isprintable()] == []


@pytest.mark.parametrize(("columns", "width"), [("10", 40), ("90", 90), ("500", 120)])
def test_lines_keep_to_a_readable_width(columns: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal.line_width() == width
