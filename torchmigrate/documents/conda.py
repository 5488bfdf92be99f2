"""conda's requirements: entries of environment files, and lists, which are often called requirements.txt."""

from __future__ import annotations

import re

from torchmigrate.documents import shell
from torchmigrate.documents.installing import read_conda
from torchmigrate.documents.reader import Reader
from torchmigrate.documents.references import Role, Unit
from torchmigrate.documents.requirements import INCLUDING
from torchmigrate.documents.spellings import INDEX_OPTIONS, INDEX_URL
from torchmigrate.documents.values import lines, stripped
from torchmigrate.model.findings import Span

_HEAD = re.compile(r"^#.*conda create", re.MULTILINE)
_BUILD = re.compile(r"^[\w.-]+=[^=\s]+=[^=\s]+\r?$", re.MULTILINE)


def is_list(view: str) -> bool:
    """Return whether a file's head says that it is a list for ``conda create --file``."""
    return _HEAD.search(view, 0, 400) is not None


def read_list(reader: Reader) -> None:
    """Read a list for conda. One that names builds was written by ``conda list --export``: it is a lock file."""
    unit = reader.unit(Role.LOCK if _BUILD.search(reader.view) else None)
    for line in lines(reader.view):
        comment = reader.view.find("#", line.start, line.end)
        span = stripped(reader.view, line.start, line.end if comment < 0 else comment)
        if span.start < span.end:
            entry(reader, unit, span)


def entry(reader: Reader, unit: Unit, span: Span) -> None:
    """Read an entry of a conda environment, or of the list for pip in it."""
    text = reader.view[span.start : span.end]
    if text.startswith("-"):
        option = re.fullmatch(r"(--?[\w-]+)(?:=|[ \t]+)(\S+)", text)
        if option and option[1] in INCLUDING:
            reader.environment.includes.append(INCLUDING[option[1]].format(option[2].removeprefix("file:")))
        elif option and INDEX_URL.fullmatch(option[2]):
            known = INDEX_OPTIONS.get(option[1], "")
            line = reader.view.rfind("\n", 0, span.start) + 1
            after = reader.view.find("\n", span.end) + 1 or len(reader.view)
            reader.index(Span(span.start + option.start(2), span.end), unit, known, removal=Span(line, after))
        return
    if re.search(r"==|~=|\[|;| @ ", text) and "::" not in text:
        reader.requirement(span, unit)
    elif not read_conda(reader, span, unit, "conda"):
        shell.commands(reader, span.start, span.end)
