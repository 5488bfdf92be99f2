"""Workflows, compose files, conda environments and other YAML, read by their lines.

YAML is not parsed as a whole: nothing that rules look for spans more than a line, but for the scalars that hold
commands, and a file with templates in it (``{{ … }}``) is no YAML before they are filled in.
"""

from __future__ import annotations

import re

from torchmigrate.documents import shell
from torchmigrate.documents.reader import INDEX_URL, Reader
from torchmigrate.documents.references import Role, Sort, Style, Unit
from torchmigrate.documents.values import lines, unquoted
from torchmigrate.findings import Span
from torchmigrate.source import SourceError

_CONDA = re.compile(r"^(?:dependencies|requirements):[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_CHANNELS = re.compile(r"^(?:channels|dependencies|package|build|prefix):", re.MULTILINE)
_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#.*")
_ENTRY = re.compile(
    r"(?P<indent>[ \t]*)(?P<dashes>(?:-[ \t]+)*)(?P<key>\"[^\"]*\"|'[^']*'|[\w.*/ -]+?)[ \t]*:(?:[ \t]+(?P<value>.*))?"
)
_ITEM = re.compile(r"[ \t]*-[ \t]+(?P<value>.*)")
_BLOCK = re.compile(r"(?:.*:[ \t]+|[ \t]*-[ \t]+)(?P<style>[|>])[+-]?\d?[ \t]*")
_PYTHON_KEY = re.compile(r"requires-python|python_requires")


def read(reader: Reader) -> None:
    """Reads a whole file. Raises SourceError where a line is indented with tabs, which YAML forbids."""
    view = reader.view
    conda = bool(_CONDA.search(view)) and bool(_CHANNELS.search(view)) and "runs-on" not in view
    unit = reader.unit() if conda else None
    block: int | None = None
    indent_of_list = ""
    list_key = ""
    start_of_block = 0
    folded = False
    for line in lines(view):
        text = view[line.start : line.end]
        width = len(text) - len(text.lstrip(" "))
        if block is not None:
            if not text.strip() or width > block:
                continue
            shell.commands(reader, start_of_block, line.start, folded=folded)
            block = None
        if text.startswith("\t") and text.strip() and not text.strip().startswith(("#", "{")):
            raise SourceError(
                "not valid YAML: a tab in the indentation", view.count("\n", 0, line.start) + 1, 1
            )
        comment = _COMMENT.search(text)
        content = text[: comment.start()] if comment else text
        end = line.start + len(content.rstrip())
        if begins := _BLOCK.fullmatch(content):
            block, start_of_block, folded = width, line.end, begins["style"] == ">"
            entry = _ENTRY.fullmatch(view, line.start, end)
            if entry:
                block = width + len(entry["dashes"])
            continue
        if unit is not None and (item := _ITEM.fullmatch(view, line.start, end)):
            _conda(reader, unit, unquoted(view, *item.span("value")))
            continue
        entry = _ENTRY.fullmatch(view, line.start, end)
        if entry:
            key = entry["key"].strip("\"'")
            indent_of_list, list_key = entry["indent"] + " " * len(entry["dashes"]), key
            if entry["value"]:
                _entry(reader, key, *entry.span("value"))
        elif (item := _ITEM.fullmatch(view, line.start, end)) and text.startswith(indent_of_list):
            _item(reader, list_key, *item.span("value"))
        shell.commands(reader, line.start, end)
    if block is not None:
        shell.commands(reader, start_of_block, len(view), folded=folded)


def _entry(reader: Reader, key: str, start: int, end: int) -> None:
    """The value of a key: one that a variable may refer to, or a list of such."""
    text = reader.view[start:end]
    if text.startswith("[") and text.endswith("]"):
        for item in re.finditer(r"\"[^\"]*\"|'[^']*'|[^,\[\]]+", text):
            if item[0].strip():
                reader.define(key, start + item.start(), start + item.end())
    elif not text.startswith(("{", "&", "*", "!")):
        reader.define(key, start, end)


def _item(reader: Reader, key: str, start: int, end: int) -> None:
    """An element of the list below a key: a value, or ``NAME=value`` as compose and docker write environments."""
    span = unquoted(reader.view, start, end)
    pair = re.fullmatch(r"([A-Z_][A-Z0-9_]*)=(.*)", reader.view[span.start : span.end])
    if pair:
        reader.define(pair[1], span.start + pair.start(2), span.end)
    elif ":" not in reader.view[span.start : span.end]:
        reader.define(key, span.start, span.end)


def _conda(reader: Reader, unit: Unit, span: Span) -> None:
    """An entry of a conda environment, or of the list for pip in it."""
    text = reader.view[span.start : span.end]
    if text.startswith("-"):
        option = re.fullmatch(r"(--?[\w-]+)(?:=|[ \t]+)(\S+)", text)
        if option and INDEX_URL.fullmatch(option[2]):
            from torchmigrate.documents.reader import INDEX_OPTIONS

            known = INDEX_OPTIONS.get(option[1], "")
            line = reader.view.rfind("\n", 0, span.start) + 1
            after = reader.view.find("\n", span.end) + 1 or len(reader.view)
            reader.index(Span(span.start + option.start(2), span.end), unit, known, Span(line, after))
        return
    match = shell.CONDA_REQUIREMENT.fullmatch(text)
    if re.search(r"==|~=|\[|;| @ ", text) and "::" not in text:
        reader.requirement(span, unit)
    elif match and match["name"] == "python" and match["version"]:
        at = Span(span.start + match.start("version"), span.start + match.end("version"))
        reader.simple(Sort.PYTHON, "python", at, unit, option="conda")
    elif match:
        at = Span(span.start + max(0, match.start("version")), span.start + max(0, match.end("version")))
        if match["version"] is None:
            at = Span(span.end, span.end)
        reader.package(match["name"], at, unit, whole=span, style=Style.CONDA)
    else:
        shell.commands(reader, span.start, span.end)


TESTS = re.compile(
    r"(?:^|/)(?:\.\w+/(?:workflows|actions)|\.circleci|\.azure-pipelines|\.buildkite|\.ci|ci)/|(?:^|/)(?:\.gitlab-ci|azure-pipelines|\.travis)[\w.-]*\.ya?ml$"
)


def role_of(path: str) -> Role:
    """What the file at ``path`` installs for."""
    return Role.TEST if TESTS.search(path) else Role.INSTALL
