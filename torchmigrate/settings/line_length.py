"""The line length that a project's formatter keeps to, so that fixed code stays as the formatter would leave it."""

from __future__ import annotations

import os
import re

from torchmigrate.project.file_search import read_file

_BLACK = 88
"""The line length of black where a project sets none. Source: https://black.readthedocs.io/en/stable/the_black_code_style/."""
_FILES = ("ruff.toml", ".ruff.toml", "pyproject.toml")
_TABLE = re.compile(r"^\[tool\.(black|ruff)\][ \t]*(?:#.*)?$(?P<body>(?:\n(?!\[).*)*)", re.MULTILINE)
_LENGTH = re.compile(r"^line-length[ \t]*=[ \t]*(\d+)", re.MULTILINE)


def find_own_line_length(folder: str) -> int | None:
    """Return the line length that black or ruff keep to, as a file in ``folder`` itself says, or None."""
    lengths = (_read_line_length(os.path.join(folder, name)) for name in _FILES)
    return next((length for length in lengths if length is not None), None)


def _read_line_length(path: str) -> int | None:
    try:
        text = read_file(path).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return None
    if os.path.basename(path) != "pyproject.toml":
        found = _LENGTH.search(f"\n{text}".partition("\n[")[0])
        return int(found[1]) if found else None
    tables = {match[1]: match["body"] for match in _TABLE.finditer(text)}
    lengths = (_LENGTH.search(tables.get(tool, "")) for tool in ("black", "ruff"))
    found = next(filter(None, lengths), None)
    return int(found[1]) if found else _BLACK if "black" in tables else None
