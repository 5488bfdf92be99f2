"""What the terminal sees: text that cannot control it, colour, and progress."""

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
"""Controls and bytes of a file name that are no UTF-8; marks that reorder text, and characters nobody sees."""


COMMAND = re.compile(r"##(?=(?:vso)?\[)", re.IGNORECASE)
"""What begins a command to the runners of GitHub's workflows and of Azure Pipelines, wherever it stands in a line."""


def is_plain(text: str) -> bool:
    """Whether `escape` would leave ``text`` as it is, as most is; and each character takes one column."""
    return text.isascii() and text.isprintable() and "##" not in text


def escape(text: str) -> str:
    r"""``text`` in one line in which nothing controls the terminal: ``\x1b`` for an escape, a tab as it is.

    Nor the runners of GitHub's workflows and of Azure Pipelines; see `COMMAND`.
    """
    if is_plain(text):
        return text
    return COMMAND.sub(r"#\\x23", _UNSAFE.sub(lambda found: _visible(ord(found[0])), text))


def shown(line: str) -> str:
    """A whole line as `escape` gives it, and that is no command by its beginning: ``::``, behind blanks or not.

    Source: ActionCommand.cs of https://github.com/actions/runner, which reads what a step prints.
    """
    text = escape(line)
    if text.lstrip().startswith("::"):
        return text.replace("::", r"\x3a:", 1)
    return text


def _visible(number: int) -> str:
    if 0xDC80 <= number <= 0xDCFF:  # a byte that `os.fsdecode` could not read
        number -= 0xDC00
    if number >= 0x10000:
        return f"\\U{number:08x}"
    return {10: r"\n", 13: r"\r"}.get(number) or (
        f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
    )


def wants_color(choice: str, stream: IO[str]) -> bool:
    """Whether ``--color`` (auto, always, never), the environment and the stream ask for colour."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def width() -> int:
    """The columns that a line may have: the terminal's, or what COLUMNS says, within what can be read."""
    import shutil

    return max(40, min(shutil.get_terminal_size((100, 24)).columns, 120))


def wrapped(text: str, width: int, margin: str = "", *, hanging: str = "") -> list[str]:
    """``text`` in lines of at most ``width`` columns; no word is broken. Escape it before.

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
    """Whether ``stream`` is a terminal that takes OSC 8 hyperlinks, or passes over them: all that are not the oldest."""
    return stream.isatty() and os.environ.get("TERM") not in ("dumb", "linux")


def linked(text: str, url: str) -> str:
    """``text`` as a hyperlink to ``url``, of which what is no printable ASCII is left out.

    Source: https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda
    """
    return f"\x1b]8;;{re.sub(r'[^!-~]', '', url)}\x1b\\{text}\x1b]8;;\x1b\\"


def file_url(path: str) -> str:
    """The address of a file on this machine, every byte of its name that is not plain ASCII as a percent sign and digits."""
    from urllib.parse import quote

    return "file://" + quote(os.fsencode(os.path.realpath(path)))


class Progress:
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

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
