"""The pages tell the truth: their sessions print what they say, and the commands that they name are understood.

``pytest --accept`` writes the present outputs into the pages.
"""

from __future__ import annotations

import itertools
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from tests.documentation import picture
from tests.documentation.declared import ROOT
from tests.documentation.sessions import BLOCK, EXAMPLE, name_of, pages, replayed, run, sessions
from torchmigrate.cli.commands import cli

SHOWN = [page for page in pages() if any(sessions(page.read_text("utf-8")))]
COMMANDS = {"sh", "yaml", "groovy"}
"""The languages of blocks that tell commands without what they print."""
_NAMES = "|".join(cli.list_commands(click.Context(cli)))
_RUN = re.compile(rf"""(?<![\w./-])(['"]?)(?:[\w./-]*/)?torchmigrate ((?:{_NAMES})\b.*)""")


@pytest.mark.parametrize("page", SHOWN, ids=name_of)
def test_the_sessions_print_what_the_page_says(page: Path, tmp_path: Path, accept: bool) -> None:
    if "$ torchmigrate record" in page.read_text("utf-8"):
        pytest.importorskip("torch", "2.13")
    today = replayed(page, tmp_path / "example")
    if accept:
        page.write_text(today, "utf-8")
    assert page.read_text("utf-8") == today, "pytest tests/documentation --accept"


def test_the_picture_shows_what_is_printed(tmp_path: Path, accept: bool) -> None:
    folder = shutil.copytree(EXAMPLE, tmp_path / "example")
    today = picture.drawn(run(picture.IN_TERMINAL, folder))
    if accept:
        picture.PICTURE.parent.mkdir(exist_ok=True)
        picture.PICTURE.write_text(today, "utf-8")
    assert picture.lines(picture.present()) == picture.lines(today), "pytest tests/documentation --accept"


def told(text: str) -> Iterator[list[str]]:
    """The runs of torchmigrate that a page tells to type or writes into a recipe: a command with its arguments."""
    for block in BLOCK.finditer(text):
        if block["language"] in COMMANDS:
            for found in _RUN.finditer(block["text"].replace("\\\n", " ")):
                quote, run = found.groups()
                words = shlex.split(run.partition(quote)[0] if quote else run, comments=True)
                yield list(itertools.takewhile(lambda word: word not in ("|", "||", "&&", ">"), words))


def understood(words: list[str], group: click.Group = cli, parent: click.Context | None = None) -> None:
    """Raises UsageError where the command line would."""
    name, *arguments = words
    # A command keeps the names of its help option from the first context that it gets.
    context = click.Context(group, parent=parent, **group.context_settings)
    command = group.get_command(context, name)
    assert command is not None, name
    if isinstance(command, click.Group):
        understood(arguments, command, context)
    else:
        command.make_context(name, arguments, parent=context)


@pytest.mark.parametrize("page", pages(), ids=name_of)
def test_the_commands_are_understood(page: Path) -> None:
    for words in told(page.read_text("utf-8")):
        understood(words)


@pytest.mark.parametrize(
    "line",
    [
        "torchmigrate check --no-such .",
        "  - sh -c 'torchmigrate check --no-such' # why",
        "run: torchmigrate check --no-such",
    ],
)
def test_an_option_that_there_is_not_is_noticed(line: str) -> None:
    (words,) = told(f"```sh\n{line}\n```\n")
    with pytest.raises(click.UsageError, match="no-such"):
        understood(words)


def test_the_recipes_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {tuple(words) for words in told((ROOT / "docs" / "ci.md").read_text("utf-8"))}
    assert runs
    for number, words in enumerate(sorted(runs)):
        monkeypatch.chdir(shutil.copytree(EXAMPLE, tmp_path / str(number)))
        status = cli.main(list(words), standalone_mode=False)
        assert status == ("--exit-zero" not in words), words
