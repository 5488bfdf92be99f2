"""Suppression comments in project files."""

from __future__ import annotations

import configparser
import re
import shlex
from collections.abc import Iterator

from torchmigrate.adoption.places import Places
from torchmigrate.documents.document import Document
from torchmigrate.documents.verify import verify
from torchmigrate.model.findings import Edit, Span
from torchmigrate.text.edits import VerifyError
from torchmigrate.text.toml import toml_loads

_SHELLS = (".sh", ".bash", ".zsh", ".sbatch", ".slurm")
"""The suffixes of scripts whose shell is known."""
_COMMENTED = frozenset(["requirements", "toml", "ini", "docker", "yaml", "make", "cmake"])
"""The kinds of files that can end with a comment."""
_COMMANDS = re.compile(
    r"\s*(?:-\s+)*(?:(?:run|script|before_script|after_script|command|bash)\s*:\s+)?\|[+-]?\s*"
)
"""The beginning of a block of commands in a CI file."""
_MAPPED = re.compile(r"""\s*(?:-\s+)*(?:[\w."'/-]+\s*:\s+)?[^\s#|>&*!%@`].*|\s*-\s+\S.*""")
_BLOCK = re.compile(r".*[:-]\s+[|>][+-]?\d?[+-]?\s*(?:#.*)?")


class InDocument(Places):
    """The places in a project file: after the statement, or before it if comments need lines of their own."""

    source: Document

    @classmethod
    def read(cls, path: str, data: bytes) -> InDocument:
        """Create the places for the file's content. Raises SourceError."""
        document = Document.read(path, data)
        return cls(document, *document.comments_and_statements())

    def at_statement(self, statement: Span, offset: int, comment: str) -> Edit | None:
        """Add the comment, but not in a block of YAML, in a Makefile, or in a here-document."""
        source, kind = self.source, self.source.kind
        if (
            kind in ("requirements", "toml")
            or (kind == "yaml" and (_is_plain(source, statement) or _is_in_commands(source, statement)))
            or (kind == "shell" and source.path.endswith(_SHELLS) and _is_command(source, statement))
        ):
            return self._behind(statement, comment)
        if (
            kind == "ini"
            or (kind == "docker" and not re.search(r"(?mi)^#\s*escape\s*=|<<", source.view))
            or (kind == "cmake" and not _is_quoted(source, statement))
        ):
            return self._before(statement, comment)
        return None

    def at_the_end(self, comment: str) -> Edit | None:
        """Add the comment on a line of its own, in kinds of files that have such comments."""
        source = self.source
        if source.kind == "markdown":
            return self._last_line(f"\n<!-- {comment} -->")
        if source.kind in _COMMENTED or (source.kind == "shell" and source.path.endswith((*_SHELLS, ".ps1"))):
            return self._last_line(comment)
        return None

    def prove(self, edits: list[Edit]) -> None:
        """Compare the references in the file, and its parsed content if there is a parser."""
        before = self.source
        after = Document.read(before.path, before.replaced(edits))
        verify(Document.read(before.path, before.raw), after, edits)
        if _meaning(before) != _meaning(after):
            raise VerifyError("the comment would be a part of a value")


def _meaning(source: Document) -> object:
    """Return the content of the file without comments, or None if there is no parser for it. Raises VerifyError."""
    text = source.text.decode()
    try:
        if source.kind == "toml":
            return toml_loads(text)
        if source.kind == "ini":
            parser = configparser.RawConfigParser(strict=False)
            parser.read_string(text)
            return {section: dict(parser.items(section)) for section in parser.sections()}
    except (ValueError, configparser.Error) as error:
        raise VerifyError(f"malformed: {error}") from None
    if source.kind == "docker":
        return [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    return None


def _is_plain(source: Document, statement: Span) -> bool:
    """Return whether a line of YAML is a key or an item with its value, outside of multi-line texts."""
    line = source.view[statement.start : statement.end].rstrip()
    if "\n" in line or not _MAPPED.fullmatch(line) or _is_open(line):
        return False
    if not re.match(r"\s*(?:-\s|[\w.\"'/-]+\s*:(?:\s|$))", line):
        return False
    return not any(_BLOCK.fullmatch(above) or _is_open(above) for _, above in _around(source, statement))


def _is_in_commands(source: Document, statement: Span) -> bool:
    """Return whether a line of YAML is a command in a block of a CI file."""
    around = next(_around(source, statement), None)
    if around is None or not _COMMANDS.fullmatch(around[1]) or "shell: cmd" in source.view:
        return False
    return _is_command(source, statement, around[0] + len(around[1]))


def _around(source: Document, statement: Span) -> Iterator[tuple[int, str]]:
    """Yield the parent lines of a line of YAML, the nearest first, each after its character offset."""
    at = statement.start
    indent = _indent(source.view[at : statement.end])
    for above in reversed(source.view[:at].splitlines(keepends=True)):
        at -= len(above)
        if above.strip() and _indent(above) < indent:
            indent = _indent(above)
            yield at, above.rstrip()


def _is_open(line: str) -> bool:
    """Return whether a line has an odd number of quotes, and so may leave one open."""
    return any(line.count(quote) % 2 for quote in "\"'")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _is_command(source: Document, statement: Span, begin: int = 0) -> bool:
    """Return whether a line of the script at ``begin`` starts and ends outside of quotes and here-documents."""
    if "<<" in source.view[begin : statement.end]:
        return False
    try:
        for part in (source.view[begin : statement.start], source.view[statement.start : statement.end]):
            shlex.split(part, comments=True)
    except ValueError:
        return False
    return True


def _is_quoted(source: Document, statement: Span) -> bool:
    """Return whether a line of CMake may lie in an argument over several lines."""
    above = re.sub(r"\\.|#[^\n]*", "", source.view[: statement.start])
    return above.count('"') % 2 == 1 or re.search(r"\[=*\[", above) is not None
