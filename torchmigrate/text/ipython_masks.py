"""IPython's additions to Python, masked by Python code of the same length.

Syntax: https://ipython.readthedocs.io/en/stable/interactive/reference.html and
``IPython/core/inputtransformer2.py``.
"""

from __future__ import annotations

import ast
import re
import warnings

from torchmigrate.model.findings import Span

# Cell magics whose body is Python that runs in the notebook's own namespace.
_PYTHON_CELL_MAGICS = frozenset(
    """
    capture debug heat memit mprun prun pyinstrument snakeviz time timeit wandb
    """.split()  # noqa: SIM905 -- a list of names is read as one
)
_CELL_MAGIC = re.compile(rb"\s*%%(\w*)")
# Each of the next three ends where the mask begins.
_ESCAPED = re.compile(rb"[ \t]*(?=[%!?,;/])")
_HELP = re.compile(rb"[ \t]*(?=%{0,2}[\w.*]+(?:\[[^\]\r\n]*\])*\?{1,2}[ \t]*$)")
_ASSIGNED = re.compile(rb"[ \t]*[\w.,* \t]+(?:\[[^\]\r\n]*\][\w.,* \t]*)*=[ \t]*(?=!|%\w)")
_TIMED = re.compile(rb"[ \t]*(%time(?:it)?(?:[ \t]+-[a-zA-Z][ \t]*\d*)*)[ \t]+(?=\S)")
# A line magic without its percent sign, which IPython takes where it is alone in its cell (`%automagic`).
_BARE = re.compile(
    rb"\s*(?:alias|autoreload|bookmark|cat|cd|conda|config|cp|env|history|less|ll|load|load_ext|ls|mamba|man|matplotlib"
    rb"|micromamba|mkdir|more|mv|pip|popd|pushd|pylab|reload_ext|rm|rmdir|run|set_env|store|system|uv|who|whos)[ \t]+\S[^\r\n]*\s*"
)
# What decides whether the next line begins a statement.
_TOKEN = re.compile(
    rb"#[^\r\n]*|'''(?:\\.|[^\\])*?(?:'''|\Z)|\"\"\"(?:\\.|[^\\])*?(?:\"\"\"|\Z)"
    rb"|'(?:\\(?:\r\n|.)|[^\\'\r\n])*'?|\"(?:\\(?:\r\n|.)|[^\\\"\r\n])*\"?"
    rb"|\\(?:\r\n|\r|\n)|[(\[{]|[)\]}]|\r\n|\r|\n",
    re.DOTALL,
)
_LINE_END = re.compile(rb"\r\n|\r|\n")


def mask_cell(cell: bytes) -> tuple[bytes, list[Span]]:
    """Return the source of a code cell as Python of the same length, and the spans that were IPython's.

    A cell in another language (``%%bash``) becomes blank. Of a timed statement (``%time x = f()``) only the magic is
    IPython's. What is no Python even so is left to the parser to refuse.
    """
    if _is_valid_python(cell):
        return cell, []
    text = bytearray(cell)
    if _BARE.fullmatch(cell):
        start, end = len(cell) - len(cell.lstrip()), len(cell.rstrip())
        _fill_with_zero(text, start, end)
        return bytes(text), [Span(start, end)]
    spans: list[Span] = []
    at = _mask_cell_magics(text, spans)
    while at < len(text):
        end = _find_magic_end(text, at)
        if span := _mask_statement(text, at, end):
            spans.append(span)
            at = _find_line_end(text, end)[1]
        else:
            at = _find_statement_end(text, at)
    return bytes(text), spans


def _is_valid_python(code: bytes) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code.decode())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _mask_cell_magics(text: bytearray, spans: list[Span]) -> int:
    """Blank out the cell magics at the beginning of ``text``; return the offset of the line after them."""
    start = 0
    while magic := _CELL_MAGIC.match(text, start):
        is_python = magic.group(1).decode() in _PYTHON_CELL_MAGICS
        end = _find_line_end(text, magic.end())[0] if is_python else len(text)
        _blank_out(text, start, end)
        spans.append(Span(start, end))
        start = _find_line_end(text, end)[1]
    return start


def _mask_statement(text: bytearray, start: int, end: int) -> Span | None:
    """Mask the parts of the statement at ``[start, end)`` that are IPython's; return where it ends."""
    line = bytes(text[start:end])
    timed = _TIMED.match(line)
    if timed and _is_valid_python(line[timed.end() :]):
        magic = Span(start + timed.start(1), start + timed.end(1))
        _fill_with_zero(text, *magic)
        text[magic.end] = ord(";")
        return magic
    for pattern in (_ESCAPED, _HELP, _ASSIGNED):
        if match := pattern.match(line):
            _fill_with_zero(text, start + match.end(), end)
            return Span(start, end)
    return None


def _fill_with_zero(text: bytearray, start: int, end: int) -> None:
    """Turn ``[start, end)`` into the expression ``0``, since a block must not be empty."""
    _blank_out(text, start, end)
    text[start] = ord("0")


def _blank_out(text: bytearray, start: int, end: int) -> None:
    text[start:end] = re.sub(rb"[^\r\n]", b" ", text[start:end])


def _find_magic_end(text: bytearray, at: int) -> int:
    """Return the end of the magic that begins at ``at``: of its line, and of the lines that a backslash joins to it."""
    end, following = _find_line_end(text, at)
    while end < len(text) and text[end - 1 : end] == b"\\":
        end, following = _find_line_end(text, following)
    return end


def _find_line_end(text: bytearray, at: int) -> tuple[int, int]:
    """Return the end of the line that holds ``at``, and the beginning of the next one."""
    match = _LINE_END.search(text, at)
    return match.span() if match else (len(text), len(text))


def _find_statement_end(text: bytearray, at: int) -> int:
    """Return the beginning of the line after the (logical) line that begins at ``at``."""
    depth = 0
    for token in _TOKEN.finditer(text, at):
        match token.group()[:1]:
            case b"(" | b"[" | b"{":
                depth += 1
            case b")" | b"]" | b"}":
                depth = max(0, depth - 1)
            case b"\r" | b"\n" if depth == 0:
                return token.end()
    return len(text)
