"""Shell commands: in scripts, in ``RUN``, in the steps of a workflow, in the recipes of a Makefile.

They are split into words by hand. tree-sitter-bash fails on 31 of 525 texts with an installation in 90 projects: batch files,
PowerShell, ``${{ … }}`` and templates; they are read here like all others, and none needs more than words and branches.
"""

from __future__ import annotations

import re

from torchmigrate.documents import installer_commands
from torchmigrate.documents.expanded_values import strip_quotes
from torchmigrate.documents.installer_commands import ShellWord
from torchmigrate.documents.reference_reader import ReferenceReader
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
_PRINTING = frozenset(["echo", "printf", "print", "cat", "log", "info", "die", "grep", "sed"])
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
_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)\??[:+]?=(?!=)(?P<value>.*)", re.DOTALL)
_SPACED_VARIABLE = re.compile(r"(?:\$(?:env:)?)?(?P<name>[A-Za-z_]\w*)")
"""A variable that Groovy or PowerShell sets with blanks around ``=``."""
_EXPORTED = re.compile(r"(?:\A|=|,)(?P<name>[A-Za-z_]\w*)=(?P<value>[^,]*)")
"""A variable in Slurm's ``--export=ALL,NAME=value``, or in the ``--env=NAME=value`` of containers."""
_EXPORTING = ("--export", "--env")
_DIRECTIVE = re.compile(r"#SBATCH[ \t]+")
_MAKE_VARIABLE = re.compile(
    r"^(?:export[ \t]+)?(?P<name>[A-Za-z_]\w*)[ \t]*(?:\?|:|::)?=[ \t]*(?P<value>[^#\r\n]*)", re.MULTILINE
)


def read_script(reader: ReferenceReader) -> None:
    """Read a script."""
    read_commands(reader, 0, len(reader.view))


def read_makefile(reader: ReferenceReader) -> None:
    """Read a Makefile or a justfile: variables, whose values end with the line, and recipes."""
    for match in _MAKE_VARIABLE.finditer(reader.view):
        reader.define_variable(match["name"], *match.span("value"))
    read_commands(reader, 0, len(reader.view))


def read_commands(reader: ReferenceReader, start: int, end: int, *, folded: bool = False) -> None:
    """Read the commands between two offsets; if ``folded``, a line end separates words, not commands."""
    words: list[ShellWord] = []
    at = start
    pattern = _FOLDED if folded else _TOKEN
    gap = _FOLDED_GAP if folded else _GAP
    loose = start
    branches = BranchTracker(reader)
    comments: list[Span] = []
    while at < end:
        match = pattern.match(reader.view, at, end)
        if match is None:
            at += 1
            continue
        if match["word"]:
            span = strip_quotes(reader.view, *match.span())
            words.append(ShellWord(reader.view[span.start : span.end], span, Span(*match.span())))
        elif match["end"]:
            branches.enter_command(words)
            read_command(reader, words, gap)
            branches.leave_command(words, match["end"])
            words = []
        elif match["comment"]:
            reader.read_loose_text(loose, at)
            loose = match.end()
            comments.append(Span(*match.span()))
            if directive := _DIRECTIVE.match(reader.view, match.start()):
                read_commands(reader, directive.end(), match.end())
        at = match.end()
    branches.enter_command(words)
    read_command(reader, words, gap)
    branches.close_script()
    reader.read_loose_text(loose, end)
    _note_unread(reader, start, end, comments)


def _note_unread(reader: ReferenceReader, start: int, end: int, comments: list[Span]) -> None:
    """Note an installation that was read as no command, for example because of quotes inside quotes."""
    for match in _INSTALLATION.finditer(reader.view, start, end):
        commented = any(span.start <= match.start() < span.end for span in comments)
        if match.start("verb") not in reader.verbs and not commented:
            reader.environment.unread = reader.environment.unread or match[0]


def read_command(reader: ReferenceReader, words: list[ShellWord], gap: re.Pattern[str]) -> None:
    """Read one command: the variables that it sets, and what it installs.

    ``gap`` matches what separates two words, which is deleted together with a word.
    """
    for number, word in enumerate(words):
        option = word if word.text.startswith("-") or not number else words[number - 1]
        if option.text.partition("=")[0] in _EXPORTING:
            for match in _EXPORTED.finditer(reader.view, *word.span):
                reader.define_variable(match["name"], *match.span("value"))
        elif assignment := _ASSIGNMENT.fullmatch(reader.view, *word.span):
            reader.define_variable(assignment["name"], *assignment.span("value"))
    if len(words) > 2 and words[1].text == "=" and (spaced := _SPACED_VARIABLE.fullmatch(words[0].text)):
        reader.define_variable(spaced["name"], *words[2].span)
    if words and words[0].text in _PRINTING:
        reader.verbs.update(
            match.start("verb")
            for match in _INSTALLATION.finditer(reader.view, words[0].outer.start, words[-1].outer.end)
        )
        return
    # The text of an argument or a variable may be a command itself: ``bash -c "pip install …"``.
    for word in words:
        if inner := _QUOTED_COMMAND.fullmatch(reader.view, *word.outer):
            read_commands(reader, *inner.span("command"))
    _note_pythons(reader, words)
    installer_commands.read_installer(reader, words, gap)


def read_listed_command(reader: ReferenceReader, quoted: list[Span]) -> None:
    """Read a command that is written as a list of strings; ``quoted`` are their spans with the quotes."""
    read_words(reader, [Span(outer.start + 1, outer.end - 1) for outer in quoted], quoted)


def read_words(reader: ReferenceReader, spans: list[Span], outer: list[Span]) -> None:
    """Read a command by the spans of its words in a list, without and with what is around each of them."""
    words = [
        ShellWord(reader.view[span.start : span.end], span, whole)
        for span, whole in zip(spans, outer, strict=True)
    ]
    read_command(reader, words, _LISTED_GAP)


_OWN_PYTHON = "apt has no other Python for this system without the archive ppa:deadsnakes/ppa"


def _note_pythons(reader: ReferenceReader, words: list[ShellWord]) -> None:
    """Note the Python versions that a command names: in an option, as a system package, as its interpreter."""
    by_apt = any(word.text in ("apt", "apt-get") for word in words)
    fixed = _OWN_PYTHON if by_apt and "deadsnakes" not in reader.view else ""
    for number, word in enumerate(words):
        before = words[number - 1].text if number else ""
        asked = before in ("--python", "-p", "--python-version") or before.endswith("pyenv")
        pattern = _ASKED_PYTHON if asked else _PYTHON
        if match := pattern.fullmatch(reader.view, *word.span):
            span = Span(*match.span("version"))
            reader.add_reference(
                Sort.PYTHON, "python", span, reader.begin_unit(), option="command", fixed=fixed
            )


_GAP = re.compile(r"(?:[ \t]|\\[ \t]*(?:\r\n|\n|\r))+\Z")
_FOLDED_GAP = re.compile(r"\s+\Z")
_LISTED_GAP = re.compile(r"(?:\s|\\)*,(?:\s|\\)*\Z")


class BranchTracker:
    """A tracker of branches, loops and functions: while commands are read in them, the reader marks values as fixed.

    Which branch runs is unknown, and what one of them installs says nothing about the others.
    """

    def __init__(self, reader: ReferenceReader) -> None:
        self._reader = reader
        self._outer = reader.fixed
        self._depth = 0
        self._tested = False

    def enter_command(self, words: list[ShellWord]) -> None:
        """Note the beginning of a command, before it is read."""
        first = words[0].text if words else ""
        self._depth += first in _OPENING
        self._depth += sum(word.text.endswith("{") for word in words)
        branch = IN_BRANCH if self._depth or self._tested else ""
        self._reader.fixed = self._outer or branch

    def leave_command(self, words: list[ShellWord], end: str) -> None:
        """Note the end of a command, and ``end`` after it: a command after a test or after ``||`` runs only sometimes."""
        first = words[0].text if words else ""
        if first in _CLOSING or first.startswith("}"):
            self._depth = max(0, self._depth - 1)
        tested = first in ("[", "[[", "test") or self._tested
        self._tested = end == "||" or (end == "&&" and tested) or (not words and self._tested)

    def close_script(self) -> None:
        """Leave all branches at the end of the script."""
        self._reader.fixed = self._outer


_OPENING = frozenset(["if", "case", "for", "while", "until", "select", "ifeq", "ifneq", "ifdef", "ifndef"])
_CLOSING = frozenset(["fi", "esac", "done", "endif"])
IN_BRANCH = "it is in a branch, and it is unclear what the other branches install"
