"""What an error in a proof says about the program: the reason, and the line that causes it."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from typing import Any

_NAMED_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_TRACED_FRAME = re.compile(r"^\s*(\S+\.py)\((\d+)\): \S+$", re.MULTILINE)
"""How the text of an error in a trace shows the frames that there were at the trace, the innermost first."""


def find_refusal(error: BaseException | None, places: Any) -> Any:
    """Return the innermost line of the project in the text or the frames of an error, else in those of its cause."""
    while error is not None:
        for file, line in _iter_frames(error):
            place = places.describe_line(file, line)
            if place is not None:
                return place
        error = error.__cause__ or error.__context__
    return None


def _iter_frames(error: BaseException) -> Iterator[tuple[str, int]]:
    """Yield the files and lines that an error names, and those in which it was raised, the innermost first."""
    text = str(error)
    for file, line in (*_NAMED_FRAME.findall(text)[::-1], *_TRACED_FRAME.findall(text)):
        yield file, int(line)
    for frame, number in [*traceback.walk_tb(error.__traceback__)][::-1]:
        yield frame.f_code.co_filename, number


def describe_error(error: BaseException) -> str:
    """Return what an error says in its first line, or TorchScript's in its last one, without folders and frames."""
    lines = [
        line
        for line in map(str.strip, str(error).splitlines())
        if line and not line.startswith("File ") and not _TRACED_FRAME.match(line)
    ] or [""]
    said = lines[-1 if "TorchScript interpreter" in lines[0] else 0]
    name = type(error).__name__
    text = re.sub(r"(?:/[\w.+@~-]+)+/", "", said)
    text = text[len(name) + 2 :] if text.startswith(name + ": ") else text
    return f"{name}: {text[:200]}" if text else name
