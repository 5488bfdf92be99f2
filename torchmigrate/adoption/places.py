"""Where a comment can stand in a file of each kind, and the proof that nothing else changed."""

from __future__ import annotations

import configparser
import re
import shlex
import tokenize
from collections.abc import Iterator, Sequence

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


def at_statement(
    source: Source, statement: Span, offset: int, comment: str, comments: Sequence[Span]
) -> Edit | None:
    """The edit that puts ``comment`` to a statement; None where none can stand.

    In a module it goes to the end of the line that holds ``offset``, or the first one after that may end with a comment.
    ``comments`` are those of the file.
    """
    if not isinstance(source, Document):
        return _behind(source, Span(statement.start, _line_end(source, statement, offset)), comment, comments)
    kind = source.kind
    if (
        kind in ("requirements", "toml")
        or (kind == "yaml" and (_is_plain(source, statement) or _is_in_commands(source, statement)))
        or (kind == "shell" and source.path.endswith(_SHELLS) and _is_command(source, statement))
    ):
        return _behind(source, statement, comment, comments)
    if kind == "ini" or (kind == "docker" and not re.search(r"(?mi)^#\s*escape\s*=|<<", source.view)):
        return _before(source, statement, comment)
    return None


def at_the_end(source: Source, comment: str) -> Edit | None:
    """The edit that puts ``comment`` on a line of its own at the end of a project file."""
    if not isinstance(source, Document):
        return None
    text, end = source.text, len(source.text)
    gap = "" if not text or text.endswith((b"\n", b"\r")) else "\n"
    if source.kind == "markdown":
        return Edit(end, end, f"{gap}\n<!-- {comment} -->\n")
    if source.kind in _COMMENTED or (source.kind == "shell" and source.path.endswith((*_SHELLS, ".ps1"))):
        return Edit(end, end, f"{gap}{comment}\n")
    return None


def proved(before: Source, edits: list[Edit]) -> None:
    """Raises VerifyError or SourceError unless ``edits`` change comments alone."""
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


def _behind(source: Source, statement: Span, comment: str, comments: Sequence[Span]) -> Edit:
    """At the end of the last line, in the place of the blanks there; behind a comment it is a part of that."""
    text = source.text[statement.start : statement.end]
    kept = statement.start + len(text.rstrip(b" \t\r\n\f"))
    before = next((one for one in comments if one.end >= kept and one.start < kept), Span(kept, kept))
    end = statement.start + len(text.rstrip(b"\r\n"))
    return Edit(before.start, end, f"{source.segment(Span(before.start, kept))}  {comment}")


def _line_end(source: Source, statement: Span, offset: int) -> int:
    """The end of the line of a statement that holds ``offset``, or of one after it where a string or a backslash goes on."""
    ends = (token.span.start for token in tokens(source) if token.type in (tokenize.NL, tokenize.NEWLINE))
    return min((end for end in ends if offset <= end < statement.end), default=statement.end - 1)


def _before(source: Source, statement: Span, comment: str) -> Edit:
    """On a line of its own, indented as the statement."""
    text = source.text[statement.start : statement.end]
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
