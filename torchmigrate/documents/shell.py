"""Shell commands: in scripts, in ``RUN``, in the steps of a workflow, in the recipes of a Makefile."""

from __future__ import annotations

import re

from torchmigrate.documents import installing
from torchmigrate.documents.installing import Word
from torchmigrate.documents.reader import Reader
from torchmigrate.documents.values import unquoted
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort

_WORD = (
    r"(?:\$\{\{[^{}]*\}\}|\{\{[^{}]*\}\}|\$\((?:[^()\n]|\([^()\n]*\))*\)|\$\{[^{}\n]*\}"
    r'|"(?:\\.|[^"\\])*"|\'[^\']*\'|\\[^\r\n]|[^\s;&|()`"\'\\]|["\'])+'
)
_TOKEN = re.compile(
    r"(?P<blank>(?:[ \t]|\\[ \t]*(?:\r\n|\n|\r)(?:[ \t]*\#[^\n]*\n)*|\^\r?\n)+)"
    r"|(?P<comment>\#[^\r\n]*)"
    r"|(?P<end>&&|\|\||;;?|\||&|\r\n|\n|\r|[()`\\])"
    rf"|(?P<word>{_WORD})",
    re.DOTALL,
)
_FOLDED = re.compile(
    _TOKEN.pattern.replace(r"|\r\n|\n|\r|[()`\\]", r"|[()`\\]").replace(r"(?:[ \t]|", r"(?:\s|"), re.DOTALL
)
_SAYING = frozenset(["echo", "printf", "print", "cat", "log", "info", "die", "grep", "sed"])
"""Commands whose arguments are text, even if they look like a command."""
_INSTALLATION = re.compile(
    r"\b(?:pip[\d.]*|uv|conda|mamba|micromamba)(?:\s+--?[\w-]+)*\s+(?P<verb>install)\s", re.ASCII
)
_PYTHON = re.compile(
    r"(?:/\S*/)?python(?P<version>3\.\d+)(?:-(?:dev|venv|distutils|full|minimal|pip))?",
    re.ASCII,
)
_ASKED_PYTHON = re.compile(r"(?:cp|python)?(?P<version>3\.\d+)(?:\.\d+)?", re.ASCII)
_QUOTED_COMMAND = re.compile(
    r"(?:\w+=)?(?P<quote>[\"'])(?P<command>.*\s(?:install|add)\s.*)(?P=quote)", re.DOTALL
)
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)\??[:+]?=(?P<value>.*)", re.DOTALL)
_SPACED = re.compile(r"(?:\$(?:env:)?)?(?P<name>[A-Za-z_]\w*)")
"""A variable that Groovy or PowerShell sets with blanks around ``=``."""
_EXPORTED = re.compile(r"(?:\A|=|,)(?P<name>[A-Za-z_]\w*)=(?P<value>[^,]*)")
"""A variable in Slurm's ``--export=ALL,NAME=value``, or in the ``--env=NAME=value`` of containers."""
_EXPORTING = ("--export", "--env")
_DIRECTIVE = re.compile(r"#SBATCH[ \t]+")
_MAKE_VARIABLE = re.compile(
    r"^(?:export[ \t]+)?(?P<name>[A-Za-z_]\w*)[ \t]*(?:\?|:|::)?=[ \t]*(?P<value>[^#\r\n]*)", re.MULTILINE
)


def read(reader: Reader) -> None:
    """Read a script."""
    commands(reader, 0, len(reader.view))


def read_makefile(reader: Reader) -> None:
    """Read a Makefile or a justfile: variables, whose values end with the line, and recipes."""
    for match in _MAKE_VARIABLE.finditer(reader.view):
        reader.define(match["name"], *match.span("value"))
    commands(reader, 0, len(reader.view))


def commands(reader: Reader, start: int, end: int, *, folded: bool = False) -> None:
    """Read the commands between two offsets; if ``folded``, a line end separates words, not commands."""
    words: list[Word] = []
    at = start
    pattern = _FOLDED if folded else _TOKEN
    gap = _FOLDED_GAP if folded else _GAP
    loose = start
    branches = Branches(reader)
    comments: list[Span] = []
    while at < end:
        match = pattern.match(reader.view, at, end)
        if match is None:
            at += 1
            continue
        if match["word"]:
            span = unquoted(reader.view, *match.span())
            words.append(Word(reader.view[span.start : span.end], span, Span(*match.span())))
        elif match["end"]:
            branches.enter(words)
            command(reader, words, gap)
            branches.leave(words, match["end"])
            words = []
        elif match["comment"]:
            reader.loose(loose, at)
            loose = match.end()
            comments.append(Span(*match.span()))
            if directive := _DIRECTIVE.match(reader.view, match.start()):
                commands(reader, directive.end(), match.end())
        at = match.end()
    branches.enter(words)
    command(reader, words, gap)
    branches.close()
    reader.loose(loose, end)
    _note_unread(reader, start, end, comments)


def _note_unread(reader: Reader, start: int, end: int, comments: list[Span]) -> None:
    """Note an installation that was read as no command, for example because of quotes inside quotes."""
    for match in _INSTALLATION.finditer(reader.view, start, end):
        commented = any(span.start <= match.start() < span.end for span in comments)
        if match.start("verb") not in reader.verbs and not commented:
            reader.environment.unread = reader.environment.unread or match[0]


def command(reader: Reader, words: list[Word], gap: re.Pattern[str]) -> None:
    """Read one command: the variables that it sets, and what it installs.

    ``gap`` matches what separates two words, which is deleted together with a word.
    """
    for number, word in enumerate(words):
        option = word if word.text.startswith("-") or not number else words[number - 1]
        if option.text.partition("=")[0] in _EXPORTING:
            for match in _EXPORTED.finditer(reader.view, *word.span):
                reader.define(match["name"], *match.span("value"))
        elif assignment := _ASSIGNMENT.fullmatch(reader.view, *word.span):
            reader.define(assignment["name"], *assignment.span("value"))
    if len(words) > 2 and words[1].text == "=" and (spaced := _SPACED.fullmatch(words[0].text)):
        reader.define(spaced["name"], *words[2].span)
    if words and words[0].text in _SAYING:
        reader.verbs.update(
            match.start("verb")
            for match in _INSTALLATION.finditer(reader.view, words[0].outer.start, words[-1].outer.end)
        )
        return
    # The text of an argument or a variable may be a command itself: ``bash -c "pip install …"``.
    for word in words:
        if inner := _QUOTED_COMMAND.fullmatch(reader.view, *word.outer):
            commands(reader, *inner.span("command"))
    _pythons(reader, words)
    installing.read(reader, words, gap)


def listed(reader: Reader, quoted: list[Span]) -> None:
    """Read a command that is written as a list of strings; ``quoted`` are their spans with the quotes."""
    words = []
    for outer in quoted:
        span = Span(outer.start + 1, outer.end - 1)
        words.append(Word(reader.view[span.start : span.end], span, outer))
    command(reader, words, _LISTED_GAP)


def _pythons(reader: Reader, words: list[Word]) -> None:
    """Note the Python versions that a command names: in an option, as a system package, as its interpreter."""
    for number, word in enumerate(words):
        before = words[number - 1].text if number else ""
        asked = before in ("--python", "-p", "--python-version") or before.endswith("pyenv")
        pattern = _ASKED_PYTHON if asked else _PYTHON
        if match := pattern.fullmatch(reader.view, *word.span):
            span = Span(*match.span("version"))
            reader.add(Sort.PYTHON, "python", span, reader.unit(), option="command")


_GAP = re.compile(r"(?:[ \t]|\\[ \t]*(?:\r\n|\n|\r))+\Z")
_FOLDED_GAP = re.compile(r"\s+\Z")
_LISTED_GAP = re.compile(r"(?:\s|\\)*,(?:\s|\\)*\Z")


class Branches:
    """A tracker of branches, loops and functions: while commands are read in them, the reader marks values as fixed.

    Which branch runs is unknown, and what one of them installs says nothing about the others.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._outer = reader.fixed
        self._depth = 0
        self._tested = False

    def enter(self, words: list[Word]) -> None:
        """Note the beginning of a command, before it is read."""
        first = words[0].text if words else ""
        self._depth += first in _OPENING
        self._depth += sum(word.text.endswith("{") for word in words)
        branch = BRANCH if self._depth or self._tested else ""
        self._reader.fixed = self._outer or branch

    def leave(self, words: list[Word], end: str) -> None:
        """Note the end of a command, and ``end`` after it: a command after a test or after ``||`` runs only sometimes."""
        first = words[0].text if words else ""
        if first in _CLOSING or first.startswith("}"):
            self._depth = max(0, self._depth - 1)
        tested = first in ("[", "[[", "test") or self._tested
        self._tested = end == "||" or (end == "&&" and tested) or (not words and self._tested)

    def close(self) -> None:
        """Note the end of the script."""
        self._reader.fixed = self._outer


_OPENING = frozenset(["if", "case", "for", "while", "until", "select", "ifeq", "ifneq", "ifdef", "ifndef"])
_CLOSING = frozenset(["fi", "esac", "done", "endif"])
BRANCH = "it is in a branch, and it is unclear what the other branches install"
