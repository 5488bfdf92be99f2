"""Dockerfiles."""

from __future__ import annotations

import re

from torchmigrate.documents import shell
from torchmigrate.documents.reader import Reader
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
_HEREDOC = re.compile(r"<<-?[\"']?(\w+)[\"']?")
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
    while at < len(view):
        line = _LINE.match(view, at)
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
        if word in ("RUN", "COPY", "ADD") and (heredoc := _HEREDOC.search(match["rest"])):
            closing = re.compile(rf"^[ \t]*{heredoc[1]}[ \t]*\r?$", re.MULTILINE).search(view, at)
            if closing:
                if word == "RUN":
                    shell.commands(reader, at, closing.start())
                at = closing.end()
        _instruction(reader, word, match)


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
        shell.commands(reader, start, end)
    elif word == "LABEL":
        return
    else:
        reader.loose(start, end)


def _base(reader: Reader, span: Span) -> None:
    """Python's own image says which Python the file supports."""
    text = reader.view[span.start : span.end]
    python = re.match(r"(?:[\w.-]+/)*python:(3\.\d+)", text)
    if python:
        at = span.start + python.start(1)
        reader.simple(Sort.PYTHON, "python", Span(at, at + len(python[1])), reader.unit(), option="FROM")
