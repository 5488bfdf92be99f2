"""Dockerfiles."""

from __future__ import annotations

import json
import os
import re

from torchmigrate.documents import shell
from torchmigrate.documents.reader import Reader
from torchmigrate.documents.references import Environment
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort
from torchmigrate.text.source import SourceError

_INSTRUCTION = re.compile(r"[ \t]*(?P<word>[A-Za-z]+)[ \t]+(?P<rest>\S.*)", re.DOTALL)
_KNOWN = frozenset(
    [
        "FROM",
        "RUN",
        "CMD",
        "LABEL",
        "MAINTAINER",
        "EXPOSE",
        "ENV",
        "ADD",
        "COPY",
        "ENTRYPOINT",
        "VOLUME",
        "USER",
        "WORKDIR",
        "ARG",
        "ONBUILD",
        "STOPSIGNAL",
        "HEALTHCHECK",
        "SHELL",
        "INCLUDE",
    ]
)
_LINE = re.compile(
    r"(?:[^\\\r\n]|\\(?![ \t]*\r?\n)|\\[ \t]*\r?\n(?:[ \t]*#[^\n]*\n|[ \t]*\r?\n)*)*(?:\r\n|\n|\r|\Z)"
)
_COMMENT = re.compile(r"[ \t]*#[^\n]*(?:\n|\Z)")
"""A line of its own, which goes on in no other: not even a backslash at its end joins it with the next."""
_HEREDOC = re.compile(r"<<-?[\"']?(\w+)[\"']?")
_PROGRAM = re.compile(r"\b(?:python|perl|ruby|node|cat|tee)\b|python3")
"""What reads a text that is no commands."""
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')
_PAIR = re.compile(
    r"(?P<name>\w+)=(?P<value>\"(?:\\.|[^\"\\])*\"|'[^']*'|(?:\$\{[^{}]*\}|\\[^\r\n]|[^\s\\])*)"
)
_OLD_PAIR = re.compile(r"(?P<name>\w+)[ \t]+(?P<value>\S.*?)\s*", re.DOTALL)


def read(reader: Reader) -> None:
    """Reads a whole file. Raises SourceError for what is no instruction; a template's are not judged."""
    view = reader.view
    template = "{%" in view or "{{" in view
    at = 0
    begun = False
    stages = _stages(reader)
    while at < len(view):
        line = _COMMENT.match(view, at) or _LINE.match(view, at)
        if line is None or not line[0]:
            break
        at = line.end()
        text = line[0].strip()
        if not text or text.startswith("#"):
            continue
        match = _INSTRUCTION.fullmatch(view, line.start(), line.end())
        if match is None or match["word"].upper() not in _KNOWN:
            if not begun:
                return  # only called like a Dockerfile
            if template or text.startswith(("@", "%", "<")):
                continue
            raise SourceError(
                f"not an instruction: `{text.splitlines()[0][:60]}`", view.count("\n", 0, line.start()) + 1, 1
            )
        begun = True
        word = match["word"].upper()
        if word == "FROM":
            reader.environment = stages.get(match.start(), reader.environment)
        reader.environment.spans.append(Span(line.start(), line.end()))
        if word in ("RUN", "COPY", "ADD") and (heredoc := _HEREDOC.search(match["rest"])):
            closing = re.compile(rf"^[ \t]*{heredoc[1]}[ \t]*\r?$", re.MULTILINE).search(view, at)
            if closing:
                if word == "RUN" and not _PROGRAM.search(match["rest"]):
                    shell.commands(reader, at, closing.start())
                reader.environment.spans.append(Span(at, closing.end()))
                at = closing.end()
        _instruction(reader, word, match)
    for environment in {id(one): one for one in (*stages.values(), reader.environment)}.values():
        environment.includes = [_in_project(name, environment.copied) for name in environment.includes]


def _in_project(name: str, copied: dict[str, str]) -> str:
    """Where a list of an image comes from: a folder that is copied has its lists in it."""
    for target, source in copied.items():
        if target.startswith("/") and name.startswith(f"{target}/"):
            return f"{source.rstrip('/')}/{name[len(target) + 1 :]}"
    return copied.get(os.path.basename(name), name)


def _instruction(reader: Reader, word: str, match: re.Match[str]) -> None:
    start, end = match.span("rest")
    if word in ("ARG", "ENV"):
        pairs = list(_PAIR.finditer(reader.view, start, end))
        if not pairs and word == "ENV" and (old := _OLD_PAIR.fullmatch(reader.view, start, end)):
            pairs = [old]
        for pair in pairs:
            reader.define(pair["name"], pair.start("value"), pair.end("value"))
        reader.loose(start, end)
    elif word == "FROM":
        from_ = re.match(r"(?:--\S+[ \t]+)*(\S+)", reader.view[start:end])
        if from_:
            _base(reader, Span(start + from_.start(1), start + from_.end(1)))
        reader.loose(start, end)
    elif word in ("RUN", "CMD", "ENTRYPOINT", "ONBUILD"):
        if not _listed(reader, start, end):
            shell.commands(reader, start, end)
    elif word == "LABEL":
        return
    elif word in ("COPY", "ADD"):
        _copies(reader, match["rest"])
        reader.loose(start, end)
    else:
        reader.loose(start, end)


def _copies(reader: Reader, rest: str) -> None:
    """Where the lists come from that are copied into the image, by the names that they have in it."""
    words = [word.strip("\"'[],") for word in rest.replace("\\", " ").split() if not word.startswith("--")]
    if "--from" in rest or len(words) < 2:
        return
    *sources, target = words
    for source in sources:
        if source.endswith(_LISTS):
            name = target if len(sources) == 1 and target.endswith(_LISTS) else source
            reader.environment.copied[os.path.basename(name)] = source
        elif target.startswith("/") and source.strip("./"):
            reader.environment.copied[target.rstrip("/")] = source


_LISTS = (".txt", ".in", ".toml", ".cfg")
"""How the names of files end that an installer reads."""
_FROM = re.compile(
    r"^[ \t]*FROM[ \t]+(?:--\S+[ \t]+)*(?P<base>\S+)(?:[ \t]+AS[ \t]+(?P<name>\S+))?",
    re.MULTILINE | re.IGNORECASE,
)
_COPIED = re.compile(r"--(?:from|mount=\S*?from)=(?P<name>[\w.-]+)")


def _stages(reader: Reader) -> dict[int, Environment]:
    """By where each stage begins, where it installs to: to the same as a stage that it is made of or copies from."""
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


def _base(reader: Reader, span: Span) -> None:
    """The image that a stage is made on top of says which Python there is."""
    reader.simple(Sort.PYTHON, "python", span, reader.unit(), option="FROM")


def _listed(reader: Reader, start: int, end: int) -> bool:
    """Reads ``RUN ["pip", "install", …]``; False if it is none."""
    try:
        texts = json.loads(reader.view[start:end])
    except ValueError:
        return False
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return False
    shell.listed(reader, [Span(*match.span()) for match in _QUOTED.finditer(reader.view, start, end)])
    reader.loose(start, end)
    return True
