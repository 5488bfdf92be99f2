"""Terminal output: text that cannot control the terminal, color, and progress."""

from __future__ import annotations

import os
import re
import time
from types import TracebackType
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_UNSAFE = re.compile(
    r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
    r"\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Control characters, bytes of file names that are not UTF-8, marks that reorder text, and invisible characters."""


COMMAND = re.compile(r"##(?=(?:vso)?\[)", re.IGNORECASE)
"""The text that begins a command to the runners of GitHub's workflows and of Azure Pipelines, wherever it stands in a line."""


def is_printable_text(text: str) -> bool:
    """Return whether `escape_controls` would leave ``text`` unchanged, as it does most; each character then takes one column."""
    return text.isascii() and text.isprintable() and "##" not in text


def escape_controls(text: str) -> str:
    """Return ``text`` in one line that cannot control the terminal: ``\\x1b`` for an escape character, a tab as it is.

    Nor the runners of GitHub's workflows and of Azure Pipelines; see `COMMAND`.
    """
    if is_printable_text(text):
        return text
    return COMMAND.sub(r"#\\x23", _UNSAFE.sub(lambda found: _escape_character(ord(found[0])), text))


def escape_line(line: str) -> str:
    """Return a whole line as `escape_controls` does, which also cannot begin with a command of a CI service: ``::``, also after
    blanks.

    Source: ActionCommand.cs of https://github.com/actions/runner, which reads what a step prints.
    """
    text = escape_controls(line)
    if text.lstrip().startswith("::"):
        return text.replace("::", r"\x3a:", 1)
    return text


def _escape_character(number: int) -> str:
    if 0xDC80 <= number <= 0xDCFF:  # a byte that `os.fsdecode` could not read
        number -= 0xDC00
    if number >= 0x10000:
        return f"\\U{number:08x}"
    return {10: r"\n", 13: r"\r"}.get(number) or (
        f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
    )


def wants_color(choice: str, stream: IO[str]) -> bool:
    """Return whether ``--color`` (auto, always, never), the environment and the stream ask for color."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def line_width() -> int:
    """Return the number of columns for a line: that of the terminal or of COLUMNS, within readable limits."""
    import shutil

    return max(40, min(shutil.get_terminal_size((100, 24)).columns, 120))


def wrap_text(text: str, width: int, margin: str = "", *, hanging: str = "") -> list[str]:
    """Return ``text`` in lines of at most ``width`` columns; no word is broken. Escape it before.

    ``margin`` stands before each line, and ``hanging`` after it before all but the first.
    """
    import textwrap

    return textwrap.wrap(
        text,
        width,
        initial_indent=margin,
        subsequent_indent=margin + hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )


def wants_links(stream: IO[str]) -> bool:
    """Return whether ``stream`` is a terminal that shows OSC 8 hyperlinks or ignores them: all that are not known to print
    them."""
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "linux")


def render_link(text: str, url: str) -> str:
    """Return ``text`` as a hyperlink to ``url``, without characters of ``url`` that are not printable ASCII.

    Source: https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda
    """
    return f"\x1b]8;;{re.sub(r'[^!-~]', '', url)}\x1b\\{text}\x1b]8;;\x1b\\"


def create_file_url(path: str) -> str:
    """Return the URL of a file on this machine, with every byte of its name that is not plain ASCII percent-encoded."""
    from urllib.parse import quote

    return "file://" + quote(os.fsencode(os.path.realpath(path)))


class ProgressBar:
    """A progress bar on ``stream``, which appears when the run has taken a second, and only on a terminal.

    An instance is the callback that a run calls with the number of files done and of all files.
    """

    DELAY = 1.0

    def __init__(self, stream: IO[str], *, wanted: bool) -> None:
        self._stream = stream
        self._wanted = wanted and stream.isatty()
        self._begin = time.monotonic()
        self._bar: Bar | None = None

    def __call__(self, done: int, total: int) -> None:
        if not self._wanted or (self._bar is None and time.monotonic() - self._begin < self.DELAY):
            return
        if self._bar is None:
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(file=self._stream), transient=True)
            self._bar.add_task("files", total=total)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done, total=total)

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
