"""setup.cfg and tox.ini."""

from __future__ import annotations

import configparser
import re

from torchmigrate.documents import shell
from torchmigrate.documents.purposes import Purpose, purpose_of
from torchmigrate.documents.reader import Reader
from torchmigrate.documents.references import Unit
from torchmigrate.documents.spellings import INDEX_OPTIONS, INDEX_URL
from torchmigrate.documents.values import lines, unquoted
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort
from torchmigrate.text.source import SourceError

_SECTION = re.compile(r"\[(?P<name>[^\]]+)\]")
_KEY = re.compile(r"(?P<key>[^\s=:#;\[][^=:]*?)[ \t]*[=:][ \t]*(?P<value>.*)")
_FACTOR = re.compile(r"[ \t]*[\w,{}!.-]+:[ \t]+")


def read(reader: Reader) -> None:
    """Read setup.cfg or tox.ini. Raises SourceError if it is no valid INI file."""
    _check(reader.view)
    section = key = ""
    unit = reader.unit()
    for line in lines(reader.view):
        text = reader.view[line.start : line.end]
        if not text.strip() or text.lstrip().startswith(("#", ";")):
            continue
        if header := _SECTION.match(text):
            section, key = header["name"], ""
            if section.startswith(("testenv", "env")):
                unit = reader.unit()
            continue
        start = line.start
        if not text[0].isspace():
            entry = _KEY.match(text)
            if entry is None:
                continue
            key, start = entry["key"].strip(), line.start + entry.start("value")
        comment = re.search(r"[ \t][#;].*", reader.view[start : line.end])
        end = start + comment.start() if comment else line.end
        _value(reader, unit, section, key, start, end)


def _check(view: str) -> None:
    """Raise SourceError if the text is no valid INI file."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(view)
    except configparser.Error as error:
        line = getattr(error, "lineno", None)
        raise SourceError(
            f"not a valid INI file: {str(error).splitlines()[0]}", line, 1 if line else None
        ) from None


def _value(reader: Reader, unit: Unit, section: str, key: str, start: int, end: int) -> None:
    """Read one line of a key's value."""
    if factor := _FACTOR.match(reader.view, start, end):
        start = factor.end()
    span = unquoted(reader.view, start, end)
    if span.start == span.end:
        return
    if key == "python_requires":
        reader.add(Sort.PYTHON, "", span, unit)
    elif key in _REQUIREMENTS or section == "options.extras_require":
        reader.purpose = _purpose(section, key)
        _requirement(reader, unit, span)
    elif key in ("setenv", "set_env", "passenv"):
        pair = re.fullmatch(r"(\w+)[ \t]*=[ \t]*(.*)", reader.view[span.start : span.end])
        if pair:
            reader.define(pair[1], span.start + pair.start(2), span.end)
        reader.loose(span.start, span.end)
    elif key == "indexserver" or key == "install_command" or key.startswith("commands"):
        shell.commands(reader, span.start, span.end)
    else:
        reader.loose(span.start, span.end)


_REQUIREMENTS = ("install_requires", "setup_requires", "tests_require", "deps")


def _purpose(section: str, key: str) -> Purpose:
    if section == "options.extras_require":
        return purpose_of(key)
    if key == "install_requires":
        return Purpose.RUN
    return Purpose.OTHER if key == "setup_requires" else Purpose.DEVELOPMENT


def _requirement(reader: Reader, unit: Unit, span: Span) -> None:
    """Read a requirement, or a line with an index option."""
    text = reader.view[span.start : span.end]
    option = re.fullmatch(r"(--?[\w-]+)(?:=|[ \t]+)(\S+)", text)
    if option and option[1] in INDEX_OPTIONS and INDEX_URL.fullmatch(option[2]):
        line = reader.view.rfind("\n", 0, span.start) + 1
        after = reader.view.find("\n", span.end) + 1 or len(reader.view)
        whole = Span(line, after) if reader.view[line : span.start].isspace() else None
        url = Span(span.start + option.start(2), span.end)
        reader.index(url, unit, INDEX_OPTIONS[option[1]], removal=whole)
    elif not text.startswith("-"):
        reader.requirement(span, unit)
