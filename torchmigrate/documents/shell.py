"""Commands as a shell reads them: in scripts, in ``RUN``, in the steps of a workflow, in recipes."""

from __future__ import annotations

import re

from torchmigrate.documents.branches import Branches, Word
from torchmigrate.documents.reader import Reader
from torchmigrate.documents.references import Style, Unit
from torchmigrate.documents.requirements import INCLUDING
from torchmigrate.documents.spellings import INDEX_OPTIONS, INDEX_URL
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
_INSTALLER = re.compile(
    r"(?:.*[/\\!'\"\[( ]|!|)(?:pip[\d.]*|uv|poetry|pdm|pixi)(?:\.exe)?|.*\$\{?\(?\w*(?:PIP|UV)\w*\)?\}?|.*pip\s*\}\}"
)
_CONDA = re.compile(r"(?:.*/|!|)(?:conda|mamba|micromamba)|.*\$\{?\(?\w*CONDA\w*\)?\}?")
_VERBS = ("install", "add", "download", "wheel", "create", "sync", "compile")
_WITH_VALUE = frozenset(
    [
        "-r",
        "--requirement",
        "-c",
        "--constraint",
        "-e",
        "--editable",
        "-t",
        "--target",
        "-p",
        "--python",
        "--prefix",
        "--root",
        "--src",
        "--platform",
        "--python-version",
        "--implementation",
        "--abi",
        "--cache-dir",
        "--log",
        "--trusted-host",
        "--proxy",
        "--timeout",
        "--retries",
        "--group",
        "--extra",
        "--project",
        "--directory",
        "--only-binary",
        "--no-binary",
        "--index-strategy",
        "--prerelease",
        "--resolution",
        "--config-file",
        "--config-settings",
        "-C",
        "--global-option",
        "-n",
        "--name",
        "--channel",
        "--source",
        "--no-build-isolation-package",
        "--progress-bar",
        "--report",
        "--resume-retries",
        "--exists-action",
        "--no-build-package",
        "--reinstall-package",
        "--upgrade-package",
        "-P",
        "--link-mode",
        "--root-user-action",
        "--upgrade-strategy",
        "--cert",
        "--client-cert",
        "--build-option",
        "--keyring-provider",
        "--use-feature",
        "--use-deprecated",
        "--exclude-newer",
        "--override",
        "--overrides",
        "--build-constraint",
        "--refresh-package",
    ]
)
_LOCAL_PROJECT = re.compile(r"(?P<folder>\.{1,2}(?:/[\w./-]*)?|/[\w./-]*|[\w.-]+/[\w./-]*)(?:\[[\w, -]*\])?")
_SAYING = frozenset(["echo", "printf", "print", "cat", "log", "info", "die", "grep", "sed"])
"""Commands whose arguments are text, whatever it looks like."""
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
"""What Groovy and PowerShell, which put blanks around ``=``, may set: a variable, or one of the environment."""
_EXPORTED = re.compile(r"(?:\A|=|,)(?P<name>[A-Za-z_]\w*)=(?P<value>[^,]*)")
"""A variable in Slurm's ``--export=ALL,NAME=value``, or in the ``--env=NAME=value`` of containers."""
_EXPORTING = ("--export", "--env")
_DIRECTIVE = re.compile(r"#SBATCH[ \t]+")
_MAKE_VARIABLE = re.compile(
    r"^(?:export[ \t]+)?(?P<name>[A-Za-z_]\w*)[ \t]*(?:\?|:|::)?=[ \t]*(?P<value>[^#\r\n]*)", re.MULTILINE
)


def read(reader: Reader) -> None:
    """Reads a script."""
    commands(reader, 0, len(reader.view))


def read_makefile(reader: Reader) -> None:
    """Reads a Makefile or a justfile: variables whose values go on to the end of the line, and recipes."""
    for match in _MAKE_VARIABLE.finditer(reader.view):
        reader.define(match["name"], match.start("value"), match.end("value"))
    commands(reader, 0, len(reader.view))


def commands(reader: Reader, start: int, end: int, *, folded: bool = False) -> None:
    """Reads the commands between two offsets; where ``folded``, line ends only separate words."""
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
            command(reader, words, gap=gap)
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
    command(reader, words, gap=gap)
    branches.close()
    reader.loose(loose, end)
    _note_unread(reader, start, end, comments)


def _note_unread(reader: Reader, start: int, end: int, comments: list[Span]) -> None:
    """Notes an installation in the text that no command was read from, as quotes in quotes can hide it."""
    for match in _INSTALLATION.finditer(reader.view, start, end):
        commented = any(span.start <= match.start() < span.end for span in comments)
        if match.start("verb") not in reader.verbs and not commented:
            reader.environment.unread = reader.environment.unread or match[0]


def command(reader: Reader, words: list[Word], *, gap: re.Pattern[str] | None = None) -> None:
    """Reads one command: the variables that it sets, and what it installs.

    ``gap`` is what separates two words, and goes with one that is taken out.
    """
    gap = gap or _GAP
    for number, word in enumerate(words):
        option = word if word.text.startswith("-") or not number else words[number - 1]
        if option.text.partition("=")[0] in _EXPORTING:
            for match in _EXPORTED.finditer(reader.view, *word.span):
                reader.define(match["name"], *match.span("value"))
        else:
            _assignment(reader, word)
    if len(words) > 2 and words[1].text == "=" and (spaced := _SPACED.fullmatch(words[0].text)):
        reader.define(spaced["name"], words[2].span.start, words[2].span.end)
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
    for number, word in enumerate(words[:-1]):
        is_conda = _CONDA.fullmatch(word.text) is not None
        if not (is_conda or _INSTALLER.fullmatch(word.text)) or (verb := _verb(words, number + 1)) is None:
            continue
        reader.verbs.add(words[verb].span.start)
        if words[verb].text in ("sync", "install") and verb + 1 == len(words) and "pip" not in word.text:
            reader.environment.includes.append("./")  # `uv sync`, `poetry install`
        _install(reader, words[verb + 1 :], gap, conda=is_conda)
        return


def listed(reader: Reader, quoted: list[Span]) -> None:
    """Reads a command that is given as a list of strings, each with its quotes."""
    words = []
    for outer in quoted:
        span = Span(outer.start + 1, outer.end - 1)
        words.append(Word(reader.view[span.start : span.end], span, outer))
    command(reader, words, gap=_LISTED_GAP)


def _verb(words: list[Word], at: int) -> int | None:
    """Where the verb of an installer stands, behind options of its own: ``pip --quiet install``."""
    while at < len(words) and words[at].text.startswith("-"):
        at += 1
    return at if at < len(words) and words[at].text in _VERBS else None


def _pythons(reader: Reader, words: list[Word]) -> None:
    """The Pythons that a command names: packages of the system, an option, the interpreter that runs it."""
    for number, word in enumerate(words):
        before = words[number - 1].text if number else ""
        asked = before in ("--python", "-p", "--python-version") or before.endswith("pyenv")
        pattern = _ASKED_PYTHON if asked else _PYTHON
        if match := pattern.fullmatch(reader.view, word.span.start, word.span.end):
            span = Span(*match.span("version"))
            reader.simple(Sort.PYTHON, "python", span, reader.unit(), option="command")


def _assignment(reader: Reader, word: Word) -> None:
    match = _ASSIGNMENT.fullmatch(reader.view, word.span.start, word.span.end)
    if match:
        reader.define(match["name"], match.start("value"), match.end("value"))


def _install(reader: Reader, words: list[Word], gap: re.Pattern[str], *, conda: bool = False) -> None:
    unit = reader.unit()
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        name, equals, value = word.text.partition("=")
        option = INDEX_OPTIONS.get(name) if word.text.startswith("-") and not conda else None
        if name in INCLUDING and not conda:
            if equals:
                reader.environment.includes.append(INCLUDING[name].format(value))
            elif at < len(words):
                reader.environment.includes.append(INCLUDING[name].format(words[at].text))
                at += 1
        elif option is not None:
            if equals:
                span = unquoted(reader.view, word.span.end - len(value), word.span.end)
                whole = word.outer
            elif at < len(words):
                span, whole = words[at].span, Span(word.outer.start, words[at].outer.end)
                at += 1
            else:
                return
            _source(reader, span, unit, option, _with_gap(reader.view, whole, gap))
        elif word.text.startswith("-"):
            at += word.text in _WITH_VALUE
        elif INDEX_URL.fullmatch(word.text):
            reader.wheel(word.span, unit)
        elif word.text.startswith(("$(", "`")):
            reader.environment.unread = reader.environment.unread or word.text  # what it prints is installed
        elif conda:
            _conda(reader, word, unit)
        elif local := _LOCAL_PROJECT.fullmatch(word.text):
            reader.environment.includes.append(f"{local['folder']}/")
        elif not word.text.isdigit() and "://" not in word.text:
            reader.requirement(word.span, unit, removal=_with_gap(reader.view, word.outer, gap))


def _source(reader: Reader, span: Span, unit: Unit, option: str, removal: Span) -> None:
    text = reader.view[span.start : span.end]
    # uv lets an index be named: ``--index pytorch=https://…``
    named = re.match(r"[\w-]+=(?=https?:)", text)
    if named:
        span = Span(span.start + named.end(), span.end)
    reader.index(span, unit, option, removal)


def _conda(reader: Reader, word: Word, unit: Unit) -> None:
    match = CONDA_REQUIREMENT.fullmatch(reader.view, word.span.start, word.span.end)
    if match and match["name"] == "python" and match["version"]:
        span = Span(*match.span("version"))
        reader.simple(Sort.PYTHON, "python", span, unit, option="command")
    elif match:
        reader.package(match["name"], Span(*match.span("version")), unit, whole=word.span, style=Style.CONDA)


CONDA_REQUIREMENT = re.compile(
    r"(?:[\w./-]+::)?(?P<name>[\w.-]+?)[ \t]*(?P<version>(?:[=<>!~]|[ \t]\d)[^\s#]*(?:[ \t]*,[ \t]*[^\s#]+)*)?"
    r"(?:[ \t]+[\w*.-]+)?",
    re.ASCII,
)
"""A conda match specification: ``channel::name=version=build``."""


def _with_gap(view: str, span: Span, gap: re.Pattern[str]) -> Span:
    """The word with what separates it from the one before, so that nothing is left of it when it goes."""
    before = gap.search(view, max(0, span.start - 200), span.start)
    return Span(before.start() if before else span.start, span.end)


_GAP = re.compile(r"(?:[ \t]|\\[ \t]*(?:\r\n|\n|\r))+\Z")
_FOLDED_GAP = re.compile(r"\s+\Z")
_LISTED_GAP = re.compile(r"(?:\s|\\)*,(?:\s|\\)*\Z")
