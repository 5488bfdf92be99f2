"""conda's requirements: entries of environment files, and lists, which are often called requirements.txt."""

from __future__ import annotations

import re

from torchmigrate.documents import shell_commands
from torchmigrate.documents.expanded_values import find_lines, strip_blanks
from torchmigrate.documents.installer_commands import read_conda_requirement
from torchmigrate.documents.reference_patterns import INCLUDE_OPTIONS, INDEX_OPTIONS
from torchmigrate.documents.reference_reader import ReferenceReader
from torchmigrate.documents.references import InstallRole, InstallUnit
from torchmigrate.model.findings import Span

_HEAD = re.compile(r"^#.*conda create\b.*--file", re.MULTILINE)
_BUILD = re.compile(r"^[\w.-]+=[^=\s]+=[^=\s]+\r?$", re.MULTILINE)


def is_conda_list(view: str) -> bool:
    """Return whether a file's head says that it is a list for ``conda create --file``."""
    return _HEAD.search(view, 0, 400) is not None


def read_list(reader: ReferenceReader) -> None:
    """Read a list for conda. One that names builds was written by ``conda list --export``: it is a lock file."""
    unit = reader.begin_unit(InstallRole.LOCK if _BUILD.search(reader.view) else None)
    for line in find_lines(reader.view):
        comment = reader.view.find("#", line.start, line.end)
        span = strip_blanks(reader.view, line.start, line.end if comment < 0 else comment)
        if span.start < span.end:
            read_entry(reader, unit, span)


def read_entry(reader: ReferenceReader, unit: InstallUnit, span: Span, *, removable: bool = True) -> None:
    """Read an entry of a conda environment, or of the list for pip in it; ``removable`` if it is on a line of its own."""
    text = reader.view[span.start : span.end]
    if text.startswith("-"):
        option = re.fullmatch(r"(--?[\w-]+)(?:=|[ \t]+)(\S+)", text)
        if option and option[1] in INCLUDE_OPTIONS:
            included = option[2].removeprefix("file:")
            reader.environment.includes.append(INCLUDE_OPTIONS[option[1]].format(included))
        elif option and option[1] in INDEX_OPTIONS and "://" in option[2]:
            known = INDEX_OPTIONS[option[1]]
            line = reader.view.rfind("\n", 0, span.start) + 1
            after = reader.view.find("\n", span.end) + 1 or len(reader.view)
            removal = Span(line, after) if removable else None
            reader.add_index(Span(span.start + option.start(2), span.end), unit, known, removal=removal)
        return
    if re.search(r"\[|;| @ ", text) and "::" not in text:
        reader.add_requirement(span, unit)
    elif not read_conda_requirement(reader, span, unit, "conda"):
        shell_commands.read_commands(reader, span.start, span.end)
