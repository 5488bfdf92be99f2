"""A file as the tool sees it: UTF-8 text with byte offsets, and the way back to the file's own encoding."""

from __future__ import annotations

import ast
import codecs
import re
import sys
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate, pairwise
from os import PathLike, fspath

from torchmigrate.model.findings import Edit, Location, Span
from torchmigrate.text.text_edits import apply_edits

# PEP 263: a comment alone on line 1, or on line 2 after a line that holds no code. CPython ends these lines at
# \r, \n or \r\n, which `tokenize.detect_encoding` does not.
_COOKIE = re.compile(
    rb"(?:[ \t\f]*(?:#[^\r\n]*)?(?:\r\n|\r|\n))?[ \t\f]*#[^\r\n]*?(coding[:=][ \t]*([-\w.]+))", re.ASCII
)
_FIRST_LINE_COOKIE = re.compile(rb"[ \t\f]*#[^\r\n]*?(coding[:=][ \t]*([-\w.]+))", re.ASCII)

_QUOTED = re.compile(r"[A-Za-z]{0,2}(['\"])(?!\1\1)")
"""The beginning of a string literal, unless it has triple quotes."""

_NESTED_BYTES = 1 << 20
"""The size above which a text that the parser has no memory for is called large instead of nested too deeply."""


class SourceError(Exception):
    """A file that cannot be decoded, parsed or written back; positions are 1-based, or None if unknown."""

    def __init__(
        self, message: str, line: int | None = None, column: int | None = None, cell: int | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.cell = cell


_NEWER_SYNTAX = re.compile(
    r"f-string: |.*\n\s*(?:type\s+\w+\b.*=|(?:async\s+)?def\s+\w+\[|class\s+\w+\[)", re.DOTALL
)
"""The message of a syntax error, and its line, where Python 3.12 and newer may read the code: PEP 695 and PEP 701."""


def _suggest_newer_python(error: SyntaxError) -> str:
    """Return the next step where only the age of the running Python may be what is wrong."""
    if sys.version_info >= (3, 12) or not _NEWER_SYNTAX.match(f"{error.msg}\n{error.text or ''}"):
        return ""
    return "; if Python 3.12 or newer reads this file, run torchmigrate with it"


class SourceText:
    """The text of one file. All offsets and spans are byte offsets into ``text``.

    ``path`` is the name for messages, ``raw`` the file's content, ``text`` its UTF-8 text without a byte order
    mark and with the file's own line ends, ``encoding`` the codec that gave it. A notebook's ``text`` is that
    of its code cells (see `torchmigrate.text.notebook`), and ``original`` the same before its magics were masked.
    """

    def __init__(
        self, path: str, raw: bytes, text: bytes, encoding: str = "utf-8", bom: bool = False
    ) -> None:
        self.path = path
        self.raw = raw
        self.text = text
        self.encoding = encoding
        self.bom = bom
        self.original = text
        self.line_length: int | None = None
        """The line length of the project's formatter, if it names one."""
        self._last_lines: tuple[tuple[int, int], tuple[str, ...]] | None = None

    @classmethod
    def decode_source(cls, path: str | PathLike[str], data: bytes) -> SourceText:
        """Decode the text file at ``path`` with the content ``data``; `torchmigrate.text.source_reader` also handles notebooks.

        Raises SourceError if ``data`` is not text in the encoding that it declares.
        """
        name = fspath(path)
        bom = data.startswith(codecs.BOM_UTF8)
        text = data[len(codecs.BOM_UTF8) :] if bom else data
        cookie = _find_cookie(text)
        encoding = _find_codec(cookie.group(2).decode()) if cookie else "utf-8"
        if encoding == "utf-8":
            if not text.isascii():
                _check_is_utf8(text)
            return cls(name, data, text, encoding, bom)
        if bom:
            raise SourceError(
                f"encoding problem: the file has a UTF-8 byte order mark, but declares {encoding}", 1, 1
            )
        try:
            text = _decode_text(data, encoding).encode()
        except UnicodeDecodeError as error:
            raise _create_decode_error(data, error.start, encoding) from None
        except (UnicodeError, ValueError) as error:
            raise SourceError(f"cannot be decoded as {encoding}: {error}") from None
        if cookie and cookie.group(1) not in text:
            raise SourceError(f"encoding problem: the text is not in the {encoding} that it declares", 1, 1)
        return cls(name, data, text, encoding)

    @cached_property
    def syntax_tree(self) -> ast.Module:
        """The syntax tree, with positions that `offset_of` and `span_of` understand.

        Raises SourceError if the running Python cannot parse the text, and MemoryError if it is too large for that.
        """
        if (nul := self.text.find(b"\0")) >= 0:
            raise SourceError("a null byte", *_end_position(self.text[:nul]))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(self.text.decode())
        except SyntaxError as error:
            line, column = max(error.lineno or 1, 1), max(error.offset or 1, 1)
            raise SourceError(f"{error.msg}{_suggest_newer_python(error)}", line, column) from None
        except (RecursionError, MemoryError) as error:
            # The parser also raises MemoryError for what is nested too deeply.
            if isinstance(error, MemoryError) and len(self.text) > _NESTED_BYTES:
                raise
            raise SourceError("nested too deeply to parse") from None
        except (ValueError, OverflowError) as error:
            raise SourceError(str(error)) from None

    @cached_property
    def line_starts(self) -> list[int]:
        """The byte offset at which each line begins; lines end at ``\\n``, ``\\r`` and ``\\r\\n`` only."""
        starts = list(accumulate(map(len, self.text.splitlines(keepends=True)), initial=0))
        if self.text and not self.text.endswith((b"\n", b"\r")):
            starts.pop()
        return starts

    @cached_property
    def longest_line(self) -> int:
        """The length in characters of the longest line, apart from lines that contain an address."""
        return max((len(line) for line in self.text.decode().splitlines() if "://" not in line), default=0)

    @cached_property
    def quote(self) -> str:
        """The quotation mark of most strings in the file, apart from those in triple quotes; ``"`` if there are none."""
        literals = (
            self.get_segment(node)
            for node in ast.walk(self.syntax_tree)
            if isinstance(node, ast.JoinedStr)
            or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        )
        marks = Counter(found[1] for literal in literals if (found := _QUOTED.match(literal)))
        return max("\"'", key=marks.__getitem__)

    def offset_of(self, line: int, col: int) -> int:
        """Return the byte offset of `ast`'s ``lineno`` (1-based) and ``col_offset`` (0-based, in UTF-8 bytes)."""
        return self.line_starts[line - 1] + col

    def line_of(self, offset: int) -> int:
        """Return the 1-based line that holds the byte ``offset``."""
        return bisect_right(self.line_starts, offset)

    def span_of(self, node: ast.AST) -> Span:
        """Return the span of ``node`` without its parentheses and decorators. Raises ValueError if it has no position."""
        if isinstance(
            node, (ast.expr, ast.stmt, ast.excepthandler, ast.arg, ast.keyword, ast.alias, ast.pattern)
        ):
            end_line, end_col = node.end_lineno, node.end_col_offset
            if end_line is not None and end_col is not None:
                return Span(self.offset_of(node.lineno, node.col_offset), self.offset_of(end_line, end_col))
        raise ValueError(f"{type(node).__name__} has no position")

    def get_segment(self, node: ast.AST | Span) -> str:
        """Return the text of a node or span, with line ends as in the file."""
        span = node if isinstance(node, Span) else self.span_of(node)
        return self.text[span.start : span.end].decode()

    def locate_span(self, span: Span) -> Location:
        """Return ``span`` for a reader: lines and columns from 1, columns in characters, the end exclusive."""
        line, column = self._to_position(span.start)
        end_line, end_column = self._to_position(span.end)
        return Location(line, column, end_line, end_column)

    def _to_position(self, offset: int) -> tuple[int, int]:
        line = self.line_of(offset)
        return line, len(self.text[self.line_starts[line - 1] : offset].decode()) + 1

    def get_lines(self, span: Span) -> tuple[str, ...]:
        """Return the lines that ``span`` touches, without their ends."""
        first = self.line_of(span.start)
        last = self.line_of(max(span.start, span.end - 1))
        # One long line may have thousands of findings, which share its text.
        if self._last_lines is None or self._last_lines[0] != (first, last):
            self._last_lines = (first, last), self._decode_lines(first, last)
        return self._last_lines[1]

    def _decode_lines(self, first: int, last: int) -> tuple[str, ...]:
        bounds = [*self.line_starts[first - 1 : last + 1], len(self.text)][: last - first + 2]
        return tuple(self.original[a:b].decode().rstrip("\r\n") for a, b in pairwise(bounds))

    def full_line_span(self, offset: int) -> Span:
        """Return the span of the line that holds ``offset``, with its end; in a notebook not beyond its cell."""
        line = self.line_of(offset)
        end = self.line_starts[line] if line < len(self.line_starts) else len(self.text)
        return Span(self.line_starts[line - 1], end)

    def apply_edits(self, edits: Iterable[Edit]) -> bytes:
        """Return the content of the file with ``edits`` applied to ``text``; every byte outside of them stays.

        Raises SourceError if the encoding cannot express the result, or would change other bytes too.
        """
        text = apply_edits(self.text, edits)
        if self.encoding == "utf-8":
            return codecs.BOM_UTF8 + text if self.bom else text
        try:
            if self.text.decode().encode(self.encoding) != self.raw:
                raise SourceError(f"cannot be written back: its {self.encoding} has more than one form")
            return text.decode().encode(self.encoding)
        except (UnicodeError, ValueError) as error:
            raise SourceError(f"cannot be written back in {self.encoding}: {error}") from None


def _decode_text(data: bytes, encoding: str, errors: str = "strict") -> str:
    """Return the text in ``data``; for escapes in unicode_escape, Python would warn."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return data.decode(encoding, errors)


def _find_cookie(text: bytes) -> re.Match[bytes] | None:
    if text.find(b"coding", 0, 4096) < 0:
        return None
    return _FIRST_LINE_COOKIE.match(text) or _COOKIE.match(text)


def _find_codec(name: str) -> str:
    """Return the codec that CPython uses for a cookie's ``name``."""
    normal = name.lower().replace("_", "-")
    if normal == "utf-8" or normal.startswith("utf-8-"):
        return "utf-8"
    try:
        b" ".decode(name)  # refuses what is no text encoding, such as rot13
        return codecs.lookup(name).name
    except (LookupError, UnicodeError, ValueError):
        raise SourceError(f"unknown encoding: {name}", 1, 1) from None


def _check_is_utf8(text: bytes) -> None:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        raise _create_decode_error(text, error.start, "UTF-8") from None


def _create_decode_error(data: bytes, at: int, encoding: str) -> SourceError:
    return SourceError(
        f"not valid {encoding}: the byte 0x{data[at]:02x}", *_end_position(data[:at], encoding)
    )


def _end_position(text: bytes, encoding: str = "utf-8") -> tuple[int, int]:
    """Return the 1-based line and column at the end of a text (in characters; in bytes where the codec cannot count them)."""
    lines = text.splitlines(keepends=True) or [b""]
    if lines[-1].endswith((b"\n", b"\r")):
        lines.append(b"")
    try:
        return len(lines), len(_decode_text(lines[-1], encoding, "replace")) + 1
    except UnicodeError:  # idna knows no replacement
        return len(lines), len(lines[-1]) + 1
