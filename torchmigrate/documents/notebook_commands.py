"""The commands in the code cells of a notebook: ``!pip``, ``%pip``, ``%conda``, ``%%bash``."""

from __future__ import annotations

import json
import re

from torchmigrate.documents import shell_commands
from torchmigrate.documents.expanded_values import ExpandedValue, ValuePiece
from torchmigrate.documents.reference_reader import ReferenceReader
from torchmigrate.model.findings import Span
from torchmigrate.model.vocabulary import Sort
from torchmigrate.text.notebook import Notebook

_LINE = re.compile(
    r"(?P<indent>[ \t]*)(?:[\w.,*\[\] \t]+=[ \t]*)?(?:%time(?:it)?[ \t]+)?"
    r"(?:!{1,2}|%(?:sx|system|env|set_env)[ \t]+|%(?=(?:pip|conda|mamba|micromamba|uv)\b)"
    r"|(?=(?:pip|conda|mamba|micromamba|uv)[ \t]))[ \t]*"
)
_CELL = re.compile(r"\s*%%(?:(?:ba)?sh|shell|sx|system|script[ \t][^\n]*?(?:ba|z)?sh)\b[^\n]*(?:\n|\Z)")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*", re.MULTILINE)
_NAMED_RELEASE = re.compile(
    r"(?<![A-Za-z])(?:py)?torch(?:[-/][a-z]+)*[-_.:=]{1,2}v?[12][.-]\d{1,2}(?!\d)[\w.-]*", re.IGNORECASE
)
"""A release of torch in the name of an image or a file."""
_INSERTED_VALUE = re.compile(r"(?<![${])\{(?!\{)(?!sys\.executable\})[^{}]*\}")


def read_notebook(reader: ReferenceReader) -> None:
    """Read the IPython commands of a notebook, all of which install into the kernel's Python."""
    source = reader.source
    assert isinstance(source, Notebook)
    for mask in source.masks:
        found = _CELL.match(reader.view, *mask)
        line = None if found else _LINE.match(reader.view, *mask)
        if start := found or line:
            reader.fixed = _explain_fixed(reader.view[start.end() : mask.end], line)
            reader.environment.spans.append(Span(start.end(), mask.end))
            shell_commands.read_commands(reader, start.end(), mask.end)
    reader.fixed = ""
    if python := _find_kernel_python(source.raw):
        value = ExpandedValue((ValuePiece(python, Span(0, 0), python),))
        reader.add_reference(
            Sort.PYTHON, "python", Span(0, 0), reader.begin_unit(), option="kernel", values=[value]
        )
    if named := _NAMED_RELEASE.search(_find_unread_text(reader)):
        reader.environment.blocker = f"another cell mentions `{named[0]}`, and the versions may have to match"


def _find_kernel_python(data: bytes) -> str:
    """Return the Python version that a notebook's metadata names; empty if it names none."""
    metadata = json.loads(data.decode("utf-8-sig")).get("metadata")
    language = metadata.get("language_info") if isinstance(metadata, dict) else None
    version = language.get("version") if isinstance(language, dict) else None
    return version if isinstance(version, str) and re.fullmatch(r"3\.\d+(?:\.\d+)?", version) else ""


def _find_unread_text(reader: ReferenceReader) -> str:
    """Return the text of the cells without comments and without the commands that were read."""
    parts, done = [], 0
    for span in reader.environment.spans:
        parts.append(reader.view[done : span.start])
        done = span.end
    return _COMMENT.sub("", "\n".join([*parts, reader.view[done:]]))


def _explain_fixed(command: str, line: re.Match[str] | None) -> str:
    """Return why a command may not be edited; empty if it may."""
    # An indented command is in a branch or a loop of the program.
    if line is not None and line["indent"]:
        return shell_commands.IN_BRANCH
    inserted = _INSERTED_VALUE.search(command)
    return f"`{inserted[0]}` is computed by the program" if inserted else ""
