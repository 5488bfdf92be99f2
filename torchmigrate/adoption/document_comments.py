"""Suppression comments in project files."""

from __future__ import annotations

import configparser
import re
import shlex
from collections.abc import Iterator

from torchmigrate.adoption.comment_places import CommentPlaces
from torchmigrate.documents.document_verification import verify_document
from torchmigrate.documents.project_documents import ProjectDocument
from torchmigrate.model.findings import Edit, Span
from torchmigrate.text.text_edits import VerifyError
from torchmigrate.text.toml_reader import parse_toml

_SHELLS = (".sh", ".bash", ".zsh", ".sbatch", ".slurm")
"""The suffixes of scripts whose shell is known."""
_COMMENTED = frozenset(["requirements", "toml", "ini", "docker", "yaml", "make", "cmake"])
"""The kinds of files that can end with a comment."""
_COMMANDS = re.compile(
    r"\s*(?:-\s+)*(?:(?:run|script|before_script|after_script|command|bash)\s*:\s+)?\|[+-]?\s*"
)
"""The beginning of a block of commands in a CI file."""
_MAPPED = re.compile(r"""\s*(?:-\s+)*(?:[\w."'/-]+\s*:\s+)?[^\s#|>&*!%@`].*""")
_BLOCK = re.compile(r".*[:-]\s+[|>][+-]?\d?[+-]?\s*(?:#.*)?")


class DocumentCommentPlaces(CommentPlaces):
    """The places in a project file: after the statement, or before it if comments need lines of their own."""

    source: ProjectDocument

    @classmethod
    def from_bytes(cls, path: str, data: bytes) -> DocumentCommentPlaces:
        """Create the places for the file's content. Raises SourceError."""
        document = ProjectDocument.decode_source(path, data)
        return cls(document, *document.find_comments_and_statements())

    def comment_statement(self, statement: Span, offset: int, comment: str) -> Edit | None:
        """Add the comment, but not in a block of YAML, in a Makefile, or in a here-document."""
        source, kind = self.source, self.source.kind
        if (
            kind in ("requirements", "toml")
            or (
                kind == "yaml"
                and (_is_plain_mapping(source, statement) or _is_in_command_block(source, statement))
            )
            or (kind == "shell" and source.path.endswith(_SHELLS) and _is_whole_command(source, statement))
        ):
            return self._append_comment(statement, comment)
        if (
            kind == "ini"
            or (kind == "docker" and not re.search(r"(?mi)^#\s*escape\s*=|<<", source.byte_view))
            or (kind == "cmake" and not _is_quoted(source, statement))
        ):
            return self._insert_comment_line(statement, comment)
        return None

    def comment_file(self, comment: str) -> Edit | None:
        """Add the comment on a line of its own, in kinds of files that have such comments."""
        source = self.source
        if source.kind == "markdown":
            return self._append_last_line(f"\n<!-- {comment} -->")
        if source.kind in _COMMENTED or (source.kind == "shell" and source.path.endswith((*_SHELLS, ".ps1"))):
            return self._append_last_line(comment)
        return None

    def prove_edits(self, edits: list[Edit]) -> None:
        """Compare the references in the file, and its parsed content if there is a parser."""
        before = self.source
        after = ProjectDocument.decode_source(before.path, before.apply_edits(edits))
        verify_document(ProjectDocument.decode_source(before.path, before.raw), after, edits)
        if _parse_meaning(before) != _parse_meaning(after):
            raise VerifyError("a comment here would become part of a value")


def _parse_meaning(source: ProjectDocument) -> object:
    """Return the content of the file without comments, or None if there is no parser for it. Raises VerifyError."""
    text = source.text.decode()
    try:
        if source.kind == "toml":
            return parse_toml(text)
        if source.kind == "ini":
            parser = configparser.RawConfigParser(strict=False)
            parser.read_string(text)
            return {section: dict(parser.items(section)) for section in parser.sections()}
    except (ValueError, configparser.Error) as error:
        raise VerifyError(f"malformed: {error}") from None
    if source.kind == "docker":
        return [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    return None


def _is_plain_mapping(source: ProjectDocument, statement: Span) -> bool:
    """Return whether a line of YAML is a key or an item with its value, outside of multi-line texts."""
    line = source.byte_view[statement.start : statement.end].rstrip()
    if "\n" in line or not _MAPPED.fullmatch(line) or _has_open_quote(line):
        return False
    if not re.match(r"\s*(?:-\s|[\w.\"'/-]+\s*:(?:\s|$))", line):
        return False
    return not any(
        _BLOCK.fullmatch(above) or _has_open_quote(above)
        for _, above in _iter_parent_lines(source, statement)
    )


def _is_in_command_block(source: ProjectDocument, statement: Span) -> bool:
    """Return whether a line of YAML is a command in a block of a CI file."""
    around = next(_iter_parent_lines(source, statement), None)
    if around is None or not _COMMANDS.fullmatch(around[1]) or "shell: cmd" in source.byte_view:
        return False
    return _is_whole_command(source, statement, around[0] + len(around[1]))


def _iter_parent_lines(source: ProjectDocument, statement: Span) -> Iterator[tuple[int, str]]:
    """Yield the parent lines of a line of YAML, the nearest first, each after its character offset."""
    at = statement.start
    indent = _count_indent(source.byte_view[at : statement.end])
    for above in reversed(source.byte_view[:at].splitlines(keepends=True)):
        at -= len(above)
        if above.strip() and _count_indent(above) < indent:
            indent = _count_indent(above)
            yield at, above.rstrip()


def _has_open_quote(line: str) -> bool:
    """Return whether a line has an odd number of quotes, and so may leave one open."""
    return any(line.count(quote) % 2 for quote in "\"'")


def _count_indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _is_whole_command(source: ProjectDocument, statement: Span, begin: int = 0) -> bool:
    """Return whether a line of the script at ``begin`` starts and ends outside of quotes and here-documents."""
    if "<<" in source.byte_view[begin : statement.end]:
        return False
    try:
        for part in (
            source.byte_view[begin : statement.start],
            source.byte_view[statement.start : statement.end],
        ):
            shlex.split(part, comments=True)
    except ValueError:
        return False
    return True


def _is_quoted(source: ProjectDocument, statement: Span) -> bool:
    """Return whether a line of CMake may lie in an argument over several lines."""
    above = re.sub(r"\\.|#[^\n]*", "", source.byte_view[: statement.start])
    return above.count('"') % 2 == 1 or re.search(r"\[=*\[", above) is not None
