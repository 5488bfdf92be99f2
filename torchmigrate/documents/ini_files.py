"""setup.cfg and tox.ini: `configparser` validates them, and their lines are read again for the places of the values."""

from __future__ import annotations

import configparser
import re

from torchmigrate.documents import shell_commands
from torchmigrate.documents.expanded_values import find_lines, strip_quotes
from torchmigrate.documents.reference_patterns import INDEX_OPTIONS
from torchmigrate.documents.reference_reader import ReferenceReader
from torchmigrate.documents.references import InstallUnit
from torchmigrate.documents.requirement_purposes import Purpose, guess_purpose
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort
from torchmigrate.text.source_text import SourceError

_SECTION = re.compile(r"\[(?P<name>[^\]]+)\]")
_KEY = re.compile(r"(?P<key>[^\s=:#;\[][^=:]*?)[ \t]*[=:][ \t]*(?P<value>.*)")
_FACTOR = re.compile(r"[ \t]*[\w,{}!.-]+:[ \t]+")


def read_ini(reader: ReferenceReader) -> None:
    """Read setup.cfg or tox.ini. Raises SourceError if it is no valid INI file."""
    _check_syntax(reader.view)
    section = key = ""
    unit = reader.begin_unit()
    for line in find_lines(reader.view):
        text = reader.view[line.start : line.end]
        if not text.strip() or text.lstrip().startswith(("#", ";")):
            continue
        if header := _SECTION.match(text):
            section, key = header["name"], ""
            if section.startswith(("testenv", "env")):
                unit = reader.begin_unit()
            continue
        start = line.start
        if not text[0].isspace():
            entry = _KEY.match(text)
            if entry is None:
                continue
            key, start = entry["key"].strip(), line.start + entry.start("value")
        comment = re.search(r"[ \t][#;].*", reader.view[start : line.end])
        end = start + comment.start() if comment else line.end
        _read_value(reader, unit, section, key, start, end)


def _check_syntax(view: str) -> None:
    """Raise SourceError if the text is no valid INI file."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(view)
    except configparser.Error as error:
        line = getattr(error, "lineno", None)
        raise SourceError(
            f"not a valid INI file: {str(error).splitlines()[0]}", line, 1 if line else None
        ) from None


def _read_value(
    reader: ReferenceReader, unit: InstallUnit, section: str, key: str, start: int, end: int
) -> None:
    """Read one line of a key's value."""
    if factor := _FACTOR.match(reader.view, start, end):
        start = factor.end()
    span = strip_quotes(reader.view, start, end)
    if span.start == span.end:
        return
    if key == "python_requires":
        reader.add_reference(Sort.PYTHON, "", span, unit)
    elif key in _REQUIREMENTS or section == "options.extras_require":
        reader.purpose = _find_purpose(section, key)
        _read_requirement(reader, unit, span)
    elif key in ("setenv", "set_env", "passenv"):
        pair = re.fullmatch(r"(\w+)[ \t]*=[ \t]*(.*)", reader.view[span.start : span.end])
        if pair:
            reader.define_variable(pair[1], span.start + pair.start(2), span.end)
        reader.read_loose_text(span.start, span.end)
    elif key == "indexserver" or key == "install_command" or key.startswith("commands"):
        shell_commands.read_commands(reader, span.start, span.end)
    else:
        reader.read_loose_text(span.start, span.end)


_REQUIREMENTS = ("install_requires", "setup_requires", "tests_require", "deps")


def _find_purpose(section: str, key: str) -> Purpose:
    if section == "options.extras_require":
        return guess_purpose(key)
    if key == "install_requires":
        return Purpose.RUN
    return Purpose.OTHER if key == "setup_requires" else Purpose.DEVELOPMENT


def _read_requirement(reader: ReferenceReader, unit: InstallUnit, span: Span) -> None:
    """Read a requirement, or a line with an index option."""
    text = reader.view[span.start : span.end]
    option = re.fullmatch(r"(--?[\w-]+)(?:=|[ \t]+)(\S+)", text)
    if option and option[1] in INDEX_OPTIONS and "://" in option[2]:
        line = reader.view.rfind("\n", 0, span.start) + 1
        after = reader.view.find("\n", span.end) + 1 or len(reader.view)
        whole = Span(line, after) if reader.view[line : span.start].isspace() else None
        url = Span(span.start + option.start(2), span.end)
        reader.add_index(url, unit, INDEX_OPTIONS[option[1]], removal=whole)
    elif not text.startswith("-"):
        reader.add_requirement(span, unit)
