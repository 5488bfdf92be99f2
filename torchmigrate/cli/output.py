"""Writing to standard output and to files: a closed pipe is no error, and files are written whole or not at all."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from torchmigrate.console.terminal import escape_line

if TYPE_CHECKING:
    import click


def print_text(text: str, *, to_stderr: bool = False) -> None:
    """Print ``text``; characters that the stream's encoding lacks are escaped.

    Raises `torchmigrate.cli.options.Failure` if writing fails for another reason than a closed stream.
    """
    stream = sys.stderr if to_stderr else sys.stdout
    encoding = stream.encoding or "utf-8"
    _write_stream(stream, text.encode(encoding, "backslashreplace").decode(encoding))


def print_lines(text: str) -> None:
    """Print lines to standard error, without control sequences."""
    print_text(
        "".join(escape_line(line) + "\n" for line in text.removesuffix("\n").split("\n")), to_stderr=True
    )


def print_error(error: click.ClickException) -> None:
    """Print the error that ends a command."""
    text = io.StringIO()
    error.show(text)
    print_lines(text.getvalue())


def print_bytes(data: bytes) -> None:
    """Print ``data`` unchanged to standard output."""
    _write_stream(sys.stdout.buffer, data)


def print_diff(changes: bytes, *, color: bool, raw: bool) -> None:
    """Print a unified diff: the exact bytes if ``raw`` and the output is no terminal, otherwise escaped text."""
    if color or not raw or sys.stdout.isatty():
        from torchmigrate.console import unified_diff

        print_text(unified_diff.escape_diff(changes, color=color))
    else:
        print_bytes(changes)


class ChunkedOutput(io.StringIO):
    """A stream that prints a long text in chunks; to be used as a context."""

    _PIECE = 1 << 16

    def __init__(self, *, to_stderr: bool = False) -> None:
        super().__init__(newline="\n")
        self._to_stderr = to_stderr

    def write(self, text: str) -> int:
        written = super().write(text)
        if self.tell() >= self._PIECE:
            self._print_chunk()
        return written

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        self._print_chunk()

    def _print_chunk(self) -> None:
        print_text(self.getvalue(), to_stderr=self._to_stderr)
        self.seek(0)
        self.truncate()


@contextlib.contextmanager
def replace_file(path: str) -> Iterator[io.TextIOWrapper]:
    """Yield a stream for the new content of the file at ``path``, which is never seen half-written.

    Raises `torchmigrate.cli.options.Failure`.
    """
    from pathlib import Path

    from torchmigrate.cli.options import Failure
    from torchmigrate.run import attributes, write_file

    try:
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe or a device
            with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
                yield stream
            return
        target = Path(os.path.realpath(path))
        with write_file.create_temporary(target) as (temporary, file):
            with io.TextIOWrapper(file, "utf-8", "backslashreplace", newline="\n") as stream:
                yield stream
            if target.exists():
                attributes.copy_attributes(os.stat(target), target, temporary)
            else:
                mask = os.umask(0)
                os.umask(mask)
                os.chmod(temporary, 0o666 & ~mask)
            os.replace(temporary, target)
    except (OSError, write_file.FileChanged) as error:
        raise Failure(f"{path} cannot be written: {getattr(error, 'strerror', None) or error}") from None


def flush_output() -> None:
    """Flush standard output, so that the interpreter does not complain about a closed pipe at its end."""
    _write_stream(sys.stdout, "")


def _write_stream(stream: IO[str] | IO[bytes], data: str | bytes) -> None:
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
