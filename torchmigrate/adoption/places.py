"""Where a comment can stand in a file of each kind, and the proof that nothing else changed."""

from __future__ import annotations

import configparser
import re
import shlex
import tokenize
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property

from torchmigrate.documents.document import Document
from torchmigrate.model.findings import Edit, Span
from torchmigrate.text.edits import VerifyError
from torchmigrate.text.read import read
from torchmigrate.text.source import Source
from torchmigrate.text.tokens import tokens
from torchmigrate.text.toml import toml_loads

_SHELLS = (".sh", ".bash", ".zsh", ".sbatch", ".slurm")
"""Of the files that hold commands, those whose shell is known."""
_COMMENTED = frozenset(["requirements", "toml", "ini", "docker", "yaml", "make", "cmake"])
"""The kinds of files that may end with a comment."""
_COMMANDS = re.compile(
    r"\s*(?:-\s+)*(?:(?:run|script|before_script|after_script|command|bash)\s*:\s+)?\|[+-]?\s*"
)
"""What begins a block of commands in a CI file."""
_MAPPED = re.compile(r"""\s*(?:-\s+)*(?:[\w."'/-]+\s*:\s+)?[^\s#|>&*!%@`].*|\s*-\s+\S.*""")
_BLOCK = re.compile(r".*[:-]\s+[|>][+-]?\d?[+-]?\s*(?:#.*)?")


class Places:
    """Where comments can go in one file; ``comments`` are those that it has."""

    def __init__(self, source: Source, comments: Sequence[Span]) -> None:
        self._source = source
        self._comments = {comment.end: comment for comment in comments}

    def at_statement(self, statement: Span, offset: int, comment: str) -> Edit | None:
        """The edit that puts ``comment`` to a statement; None where none can stand.

        In a module it goes to the end of the line that holds ``offset``, or the first one after that may end with a comment.
        """
        source = self._source
        if not isinstance(source, Document):
            at = bisect_left(self._line_ends, offset)
            return self._behind(Span(statement.start, self._line_ends[at]), comment)
        kind = source.kind
        if (
            kind in ("requirements", "toml")
            or (kind == "yaml" and (_is_plain(source, statement) or _is_in_commands(source, statement)))
            or (kind == "shell" and source.path.endswith(_SHELLS) and _is_command(source, statement))
        ):
            return self._behind(statement, comment)
        if kind == "ini" or (kind == "docker" and not re.search(r"(?mi)^#\s*escape\s*=|<<", source.view)):
            return self._before(statement, comment)
        return None

    def at_the_end(self, comment: str) -> Edit | None:
        """The edit that puts ``comment`` on a line of its own at the end of a project file."""
        source = self._source
        if not isinstance(source, Document):
            return None
        text, end = source.text, len(source.text)
        gap = "" if not text or text.endswith((b"\n", b"\r")) else "\n"
        if source.kind == "markdown":
            return Edit(end, end, f"{gap}\n<!-- {comment} -->\n")
        if source.kind in _COMMENTED or (source.kind == "shell" and source.path.endswith((*_SHELLS, ".ps1"))):
            return Edit(end, end, f"{gap}{comment}\n")
        return None

    def prove(self, edits: list[Edit]) -> None:
        """Raises VerifyError or SourceError unless ``edits`` change comments alone."""
        before = self._source
        data = before.replaced(edits)
        if not isinstance(before, Document):
            from torchmigrate.proof.verify import verify

            verify(before, read(before.path, data), edits)
            return
        from torchmigrate.documents.verify import verify as verify_document

        after = Document.read(before.path, data)
        verify_document(Document.read(before.path, before.raw), after, edits)
        if _meaning(before) != _meaning(after):
            raise VerifyError("the comment would be a part of a value")

    @cached_property
    def _line_ends(self) -> list[int]:
        """The ends of the lines of a module that may end with a comment: no string and no backslash goes on."""
        ends = (tokenize.NL, tokenize.NEWLINE)
        return [token.span.start for token in tokens(self._source) if token.type in ends]

    def _behind(self, lines: Span, comment: str) -> Edit:
        """At the end of lines, in the place of the blanks there; behind a comment it is a part of that."""
        text = self._source.text[lines.start : lines.end]
        kept = lines.start + len(text.rstrip(b" \t\r\n\f"))
        before = self._comments.get(kept) or Span(kept, kept)
        end = lines.start + len(text.rstrip(b"\r\n"))
        return Edit(before.start, end, f"{self._source.segment(before)}  {comment}")

    def _before(self, statement: Span, comment: str) -> Edit:
        """On a line of its own, indented as the statement."""
        text = self._source.text[statement.start : statement.end]
        indent = text[: len(text) - len(text.lstrip(b" \t"))].decode()
        return Edit(statement.start, statement.start, f"{indent}{comment}\n")


def _meaning(source: Document) -> object:
    """What the file says without its comments, where a parser can tell."""
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
    """Whether a line of YAML is a key or an item with its value, and in no block or text over several lines."""
    line = source.view[statement.start : statement.end].rstrip()
    if "\n" in line or not _MAPPED.fullmatch(line) or _is_open(line):
        return False
    if not re.match(r"\s*(?:-\s|[\w.\"'/-]+\s*:(?:\s|$))", line):
        return False
    return not any(_BLOCK.fullmatch(above) or _is_open(above) for _, above in _around(source, statement))


def _is_in_commands(source: Document, statement: Span) -> bool:
    """Whether a line of YAML is a command in a block of a CI file."""
    around = next(_around(source, statement), None)
    if around is None or not _COMMANDS.fullmatch(around[1]) or "shell: cmd" in source.view:
        return False
    return _is_command(source, statement, around[0] + len(around[1]))


def _around(source: Document, statement: Span) -> Iterator[tuple[int, str]]:
    """The lines that a line of YAML lies below, the nearest first, each with its place."""
    at = statement.start
    indent = _indent(source.view[at : statement.end])
    for above in reversed(source.view[:at].splitlines(keepends=True)):
        at -= len(above)
        if above.strip() and _indent(above) < indent:
            indent = _indent(above)
            yield at, above.rstrip()


def _is_open(line: str) -> bool:
    """Whether a line leaves a quote open, as far as counting tells."""
    return any(line.count(quote) % 2 for quote in "\"'")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _is_command(source: Document, statement: Span, begin: int = 0) -> bool:
    """Whether a line of the script at ``begin`` has its ends outside of quotes and of texts that follow a command."""
    if "<<" in source.view[begin : statement.end]:
        return False
    try:
        for part in (source.view[begin : statement.start], source.view[statement.start : statement.end]):
            shlex.split(part, comments=True)
    except ValueError:
        return False
    return True
