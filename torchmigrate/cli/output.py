"""Writing to standard output and to files: a closed pipe is quiet, a file is whole or as it was."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from torchmigrate.console.terminal import shown

if TYPE_CHECKING:
    import click


def print_text(text: str, *, to_stderr: bool = False) -> None:
    """Prints ``text``; what the stream's encoding lacks is written as an escape.

    Raises `torchmigrate.cli.options.Failure` when the stream fails otherwise than by being closed.
    """
    stream = sys.stderr if to_stderr else sys.stdout
    encoding = stream.encoding or "utf-8"
    _send(stream, text.encode(encoding, "backslashreplace").decode(encoding))


def print_lines(text: str) -> None:
    """Prints lines to standard error, in which nothing controls the terminal."""
    print_text("".join(shown(line) + "\n" for line in text.removesuffix("\n").split("\n")), to_stderr=True)


def print_error(error: click.ClickException) -> None:
    """Prints what ends a command."""
    text = io.StringIO()
    error.show(text)
    print_lines(text.getvalue())


def print_bytes(data: bytes) -> None:
    """Prints ``data`` as it is to standard output."""
    _send(sys.stdout.buffer, data)


def print_diff(changes: bytes, *, color: bool, raw: bool) -> None:
    """Prints a unified diff: its exact bytes if ``raw`` and nobody reads it on a terminal, else harmless text."""
    if color or not raw or sys.stdout.isatty():
        from torchmigrate.console import diff

        print_text(diff.readable(changes, color=color))
    else:
        print_bytes(changes)


class Printed(io.StringIO):
    """A stream for a long text to print, of which it never holds much; to be used as a context."""

    _PIECE = 1 << 16

    def __init__(self, *, to_stderr: bool = False) -> None:
        super().__init__(newline="\n")
        self._to_stderr = to_stderr

    def write(self, text: str) -> int:
        written = super().write(text)
        if self.tell() >= self._PIECE:
            self._hand_on()
        return written

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._hand_on()

    def _hand_on(self) -> None:
        print_text(self.getvalue(), to_stderr=self._to_stderr)
        self.seek(0)
        self.truncate()


@contextlib.contextmanager
def replaced(path: str) -> Iterator[io.TextIOWrapper]:
    """A stream for the new content of the file at ``path``, which is never seen half-written.

    Raises `torchmigrate.cli.options.Failure`.
    """
    from torchmigrate.cli.options import Failure
    from torchmigrate.run import attributes, write

    try:
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe or a device
            with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
                yield stream
            return
        target = Path(os.path.realpath(path))
        with write.beside(target) as (temporary, file):
            with io.TextIOWrapper(file, "utf-8", "backslashreplace", newline="\n") as stream:
                yield stream
            if target.exists():
                attributes.copy(os.stat(target), target, temporary)
            else:
                os.chmod(temporary, _mode_of_new())
            os.replace(temporary, target)
    except (OSError, write.Changed) as error:
        raise Failure(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}") from None


def close() -> None:
    """Flushes standard output; the interpreter would complain of a closed pipe at its end."""
    _send(sys.stdout, "")


def _mode_of_new() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _send(stream: IO[str] | IO[bytes], data: str | bytes) -> None:
    try:
        if isinstance(data, bytes):
            sys.stdout.flush()
        stream.write(data)  # type: ignore[arg-type]
        stream.flush()
    except OSError as error:
        # What is still buffered has to go somewhere when the interpreter closes the stream.
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
        if not isinstance(error, BrokenPipeError):
            from torchmigrate.cli.options import Failure

            raise Failure(f"the output cannot be written: {error.strerror}") from None
