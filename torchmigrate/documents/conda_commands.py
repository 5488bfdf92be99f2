"""Commands of conda that install torch, rewritten as ones of pip: conda's `pytorch` channel ended with torch 2.5.

conda install pytorch==2.0.1 torchvision==0.15.2 pytorch-cuda=11.8 -c pytorch -c nvidia
→
pip install torch==2.13.0 torchvision==0.28.0
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from torchmigrate.documents.references import Reference
from torchmigrate.model.findings import Edit, NoFix, Span

_COMMAND = re.compile(
    rb"(?:[\w./~-]*/)?(?:conda|mamba|micromamba)[ \t]+(?:-\S+[ \t]+)*install\b(?P<words>(?:[^\r\n;&|#\\]|\\\r?\n)*)"
)
_WORD = re.compile(rb"\"[^\"]*\"|'[^']*'|[^\s\\\"']+")
_FLAGS = frozenset({b"-y", b"--yes", b"-q", b"--quiet", b"--override-channels"})
_CHANNELS = (b"-c", b"--channel")


class CondaCommand(NamedTuple):
    """A command that installs packages by conda, in bytes of its file."""

    start: int
    end: int
    packages: list[Span]
    """The words that name packages."""


def find_command(text: bytes, package: Reference) -> CondaCommand | None:
    """Return the command that installs a package; None where a file lists it otherwise.

    Raise NoFix where the command names an environment, or has other options that pip lacks.
    """
    for match in _COMMAND.finditer(text):
        if not match.start() < package.span.start < match.end():
            continue
        end, packages, is_value = match.start("words"), list[Span](), False
        for word in _WORD.finditer(text, *match.span("words")):
            end = word.end()
            if is_value or word[0] in _FLAGS or word[0] in _CHANNELS:
                is_value = not is_value and word[0] in _CHANNELS
            elif word[0].startswith(b"-"):
                option = word[0].decode("latin-1")
                raise NoFix(
                    f"the command of conda has the option `{option}`, which pip lacks; install torch by pip"
                )
            else:
                packages.append(Span(*word.span()))
        return CondaCommand(match.start(), end, packages)
    return None


def create_command_edits(
    text: bytes, command: CondaCommand, moved: Sequence[Reference], pins: Sequence[str]
) -> list[Edit]:
    """Return the edits that let pip install ``pins`` instead of the packages ``moved`` of a command of conda.

    Where conda still has others to install, that is a second command. Raises NoFix.
    """
    pip = f"pip install {' '.join(pins)}"
    gone = [span for span in command.packages if any(_holds(span, one) for one in moved)]
    if len(gone) != len(moved):
        raise NoFix("several commands of conda install torch and its companions; install them by one of pip")
    if len(gone) == len(command.packages):
        return [Edit(command.start, command.end, pip)]
    edits = [Edit(_find_gap(text, span), span.end, "") for span in gone]
    return [*edits, Edit(command.end, command.end, f" && {pip}")]


def _holds(word: Span, package: Reference) -> bool:
    return word.start <= package.span.start < word.end


def _find_gap(text: bytes, word: Span) -> int:
    """Return where the blanks, and the ends of continued lines, before a word begin."""
    before = re.search(rb"(?:[ \t]|\\\r?\n)+$", text[: word.start])
    return before.start() if before else word.start
