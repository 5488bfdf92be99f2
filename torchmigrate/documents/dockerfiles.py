"""Dockerfiles.

They are read by hand, line by line, since a rewrite needs the place of every variable and word, and since many of them are
templates.
"""

from __future__ import annotations

import json
import os
import re

from torchmigrate.documents import shell_commands
from torchmigrate.documents.reference_reader import ReferenceReader
from torchmigrate.documents.references import Environment
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort

_INSTRUCTION = re.compile(
    r"[ \t]*(?P<word>FROM|RUN|CMD|LABEL|MAINTAINER|EXPOSE|ENV|ADD|COPY|ENTRYPOINT|VOLUME|USER|WORKDIR|ARG|ONBUILD"
    r"|STOPSIGNAL|HEALTHCHECK|SHELL|INCLUDE)[ \t]+(?P<rest>\S.*)",
    re.DOTALL | re.IGNORECASE,
)
_LINE = re.compile(
    r"(?:[^\\\r\n]|\\(?![ \t]*\r?\n)|\\[ \t]*\r?\n(?:[ \t]*#[^\n]*\n|[ \t]*\r?\n)*)*(?:\r\n|\n|\r|\Z)"
)
_COMMENT = re.compile(r"[ \t]*#[^\n]*(?:\n|\Z)")
"""A comment on its own line; a backslash at its end does not join it with the next line."""
_HEREDOC = re.compile(r"<<-?[\"']?(\w+)[\"']?")
_PROGRAM = re.compile(r"\b(?:python|perl|ruby|node|cat|tee)\b|python3")
"""Programs that read a here-document which holds no shell commands."""
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')
_PAIR = re.compile(
    r"(?P<name>\w+)=(?P<value>\"(?:\\.|[^\"\\])*\"|'[^']*'|(?:\$\{[^{}]*\}|\\[^\r\n]|[^\s\\])*)"
)
_OLD_PAIR = re.compile(r"(?P<name>\w+)[ \t]+(?P<value>\S.*?)\s*", re.DOTALL)


def read_dockerfile(reader: ReferenceReader) -> None:
    """Read a Dockerfile. A line that is no instruction is left out; unless the file is a template, its stage may not change."""
    view = reader.view
    template = "{%" in view or "{{" in view
    at = 0
    begun = False
    stages = _find_stages(reader)
    while at < len(view):
        line = _COMMENT.match(view, at) or _LINE.match(view, at)
        if line is None or not line[0]:
            break
        at = line.end()
        text = line[0].strip()
        if not text or text.startswith("#"):
            continue
        match = _INSTRUCTION.fullmatch(view, *line.span())
        if match is None:
            if not begun and not stages:
                return  # only called like a Dockerfile
            if not template and not text.startswith(("@", "%", "<")):
                environment = reader.environment
                environment.unread = environment.unread or text.splitlines()[0][:60]
            continue
        begun = True
        if match["word"].upper() == "FROM":
            reader.environment = stages.get(match.start(), reader.environment)
        reader.environment.spans.append(Span(*line.span()))
        at = _read_heredoc(reader, match, at)
        _read_instruction(reader, match)
    for environment in dict.fromkeys((*stages.values(), reader.environment)):
        environment.includes = [_find_project_path(name, environment.copied) for name in environment.includes]


def _find_project_path(name: str, copied: dict[str, str]) -> str:
    """Return the path in the project of the requirements list that an image contains as ``name``."""
    for target, source in copied.items():
        if target.startswith("/") and name.startswith(f"{target}/"):
            return f"{source.rstrip('/')}/{name[len(target) + 1 :]}"
    return copied.get(os.path.basename(name), name)


def _read_heredoc(reader: ReferenceReader, match: re.Match[str], at: int) -> int:
    """Read the here-document that begins at ``at``, if the instruction before has one; return where it ends."""
    word, heredoc = match["word"].upper(), _HEREDOC.search(match["rest"])
    if heredoc is None or word not in ("RUN", "COPY", "ADD"):
        return at
    closing = re.compile(rf"^[ \t]*{heredoc[1]}[ \t]*\r?$", re.MULTILINE).search(reader.view, at)
    if closing is None:
        return at
    if word == "RUN" and not _PROGRAM.search(match["rest"]):
        shell_commands.read_commands(reader, at, closing.start())
    reader.environment.spans.append(Span(at, closing.end()))
    return closing.end()


def _read_instruction(reader: ReferenceReader, match: re.Match[str]) -> None:
    """Read one instruction: its variables, base image, commands or copies."""
    word = match["word"].upper()
    start, end = match.span("rest")
    if word == "LABEL":
        return
    if word in ("RUN", "CMD", "ENTRYPOINT", "ONBUILD"):
        if not _read_exec_form(reader, start, end):
            shell_commands.read_commands(reader, start, end)
        return
    if word in ("ARG", "ENV"):
        pairs = list(_PAIR.finditer(reader.view, start, end))
        if not pairs and word == "ENV" and (old := _OLD_PAIR.fullmatch(reader.view, start, end)):
            pairs = [old]
        for pair in pairs:
            reader.define_variable(pair["name"], *pair.span("value"))
    elif word == "FROM" and (base := re.match(r"(?:--\S+[ \t]+)*(\S+)", reader.view[start:end])):
        # The image that a stage is built on tells which Python there is.
        span = Span(start + base.start(1), start + base.end(1))
        reader.add_reference(Sort.PYTHON, "python", span, reader.begin_unit(), option="FROM")
    elif word in ("COPY", "ADD"):
        _note_copies(reader, match["rest"])
    reader.read_loose_text(start, end)


def _note_copies(reader: ReferenceReader, rest: str) -> None:
    """Note the lists that an instruction copies into the image, by their names in it."""
    words = [word.strip("\"'[],") for word in rest.replace("\\", " ").split() if not word.startswith("--")]
    if "--from" in rest or len(words) < 2:
        return
    *sources, target = words
    for source in sources:
        if source.endswith(_LISTS):
            name = target if len(sources) == 1 and target.endswith(_LISTS) else source
            reader.environment.copied[os.path.basename(name)] = source
        elif target.startswith("/") and source.strip("./") and not os.path.splitext(source)[1]:
            reader.environment.copied[target.rstrip("/")] = source


_LISTS = (".txt", ".in", ".toml", ".cfg", ".yml", ".yaml")
"""The endings of files that an installer reads."""
_FROM = re.compile(
    r"^[ \t]*FROM[ \t]+(?:--\S+[ \t]+)*(?P<base>\S+)(?:[ \t]+AS[ \t]+(?P<name>\S+))?",
    re.MULTILINE | re.IGNORECASE,
)
_COPIED = re.compile(r"--(?:from|mount=\S*?from)=(?P<name>[\w.-]+)")


def _find_stages(reader: ReferenceReader) -> dict[int, Environment]:
    """Return the environment of each stage, by the offset of its ``FROM``.

    Stages that are built on each other, or copy from each other, share one environment.
    """
    found: dict[int, Environment] = {}
    named: dict[str, Environment] = {}
    starts = [*_FROM.finditer(reader.view)]
    for number, match in enumerate(starts):
        end = starts[number + 1].start() if number + 1 < len(starts) else len(reader.view)
        names = [
            match["base"],
            *(copied["name"] for copied in _COPIED.finditer(reader.view, match.end(), end)),
        ]
        known = [named[name.lower()] for name in names if name.lower() in named]
        environment = known[0] if known else Environment(of_image=True, around=reader.environment)
        for other in known[1:]:
            named = {name: environment if one is other else one for name, one in named.items()}
            found = {at: environment if one is other else one for at, one in found.items()}
        found[match.start()] = environment
        named[(match["name"] or "").lower()] = environment
        named[str(number)] = environment
    return found


def _read_exec_form(reader: ReferenceReader, start: int, end: int) -> bool:
    """Read the command of ``RUN ["pip", "install", …]``; return False if it is no such list."""
    try:
        texts = json.loads(reader.view[start:end])
    except ValueError:
        return False
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return False
    shell_commands.read_listed_command(
        reader, [Span(*match.span()) for match in _QUOTED.finditer(reader.view, start, end)]
    )
    reader.read_loose_text(start, end)
    return True
