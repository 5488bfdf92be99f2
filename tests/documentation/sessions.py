"""What the pages show of the tool: their sessions on the example project, and the commands that they tell to type.

A block ``console`` is a session in a fresh copy of the page's example, continued from block to block of its page: a line
``$ command``, then its output.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.documentation.declared import ROOT

EXAMPLE = ROOT / "fixtures" / "example"
_EXAMPLES = {"docs/record.md": ROOT / "fixtures" / "recorded_example"}
"""The pages with an example of their own."""
BLOCK = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_SECONDS = re.compile(r"\b\d+\.\d\d s\b")


class Step(NamedTuple):
    """A command, and what it prints."""

    command: str
    output: str

    def __str__(self) -> str:
        return f"$ {self.command}\n{self.output}"


def pages() -> list[Path]:
    """Every page that people read, but those that `torchmigrate explain` shows as well."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    return [*top, *sorted((ROOT / "docs").glob("*.md"))]


def name_of(page: Path) -> str:
    """How tests name a page."""
    return page.relative_to(ROOT).as_posix()


def sessions(text: str) -> Iterator[tuple[str, list[Step]]]:
    """Each session of a page, as it stands there, and its steps."""
    for block in BLOCK.finditer(text):
        if block["language"] == "console":
            steps = re.split(r"^\$ ", block["text"], flags=re.MULTILINE)[1:]
            yield block[0], [Step(*step.partition("\n")[::2]) for step in steps]


def replayed(page: Path, folder: Path) -> str:
    """The text of a page with what its sessions print today in a copy of its example, which is made at ``folder``."""
    shutil.copytree(_EXAMPLES.get(name_of(page), EXAMPLE), folder)
    text = page.read_text("utf-8")
    for block, steps in sessions(text):
        printed = "".join(str(step._replace(output=run(step.command, folder))) for step in steps)
        text = text.replace(block, f"```console\n{printed}```")
    return text


def run(command: str, folder: Path) -> str:
    """What a command prints; times are all the same."""
    scripts = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "110"}
    environment["XDG_STATE_HOME"] = str(folder.with_name("state"))
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return _SECONDS.sub("0.05 s", done.stdout)
