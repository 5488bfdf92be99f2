"""Runs the program in a forked process, which takes no time to start, and does to it what the world may do."""

from __future__ import annotations

import ctypes
import io
import json
import os
import select
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest

from torchmigrate.cli import commands

if sys.platform == "win32":
    pytest.skip("these faults are those of a POSIX system", allow_module_level=True)

OLD = b"import torch\n\nx = torch.jit.annotate(int, 1)\n"
NEW = b"x: int = 1\n"
FIX = ("fix", "--apply", "--unsafe", "--no-cache", "--isolated", "--min-version", "2.0")
LIMIT = 300
"""Seconds after which a run is taken to hang, on a machine that may be busy."""
CHECK = ("check", "--no-cache", "--isolated", "--min-version", "2.0")


@dataclass(frozen=True)
class Outcome:
    """How a run of the program ended: its exit status (negative: the signal that ended it), and what it said."""

    status: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        """All that was said."""
        return os.fsdecode(self.out + self.err)

    @property
    def document(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)

    @property
    def errors(self) -> dict[str, str]:
        """What the JSON report says of files that could not be processed."""
        return {error["path"]: error["message"] for error in self.document["errors"]}


def plant(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Writes files into a folder, which is made."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def many(number: int, data: bytes = OLD) -> dict[str, bytes]:
    """Names and contents of files in ten folders."""
    return {f"p{n % 10}/m{n:05}.py": data.replace(b"1", b"%d" % n) for n in range(number)}


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder, by their paths in it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Program:
    """The program in a process of its own, a fork of this one; ``before`` is called in it first."""

    def __init__(self, *arguments: str, folder: Path, before: Callable[[], object] = lambda: None) -> None:
        self._streams = [tempfile.TemporaryFile() for _ in range(2)]  # noqa: SIM115
        self._alive, inherited = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self._run(arguments, folder, before)
        os.close(inherited)

    def _run(self, arguments: tuple[str, ...], folder: Path, before: Callable[[], object]) -> NoReturn:
        try:
            os.setsid()
            signal.alarm(LIMIT)
            os.chdir(folder)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for number, stream in enumerate(self._streams, 1):
                os.dup2(stream.fileno(), number)
            before()
            become(arguments)
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(99)

    def wait(self) -> Outcome:
        """Waits for its end, and for that of all processes that it started and did not end."""
        _, status = os.waitpid(self.pid, 0)
        with os.fdopen(self._alive, "rb") as pipe:
            gone, _, _ = select.select([pipe], [], [], LIMIT)
            if not gone:
                os.killpg(self.pid, signal.SIGKILL)
            assert gone, "a process was left behind"
        texts = []
        for stream in self._streams:
            with stream:
                stream.seek(0)
                texts.append(stream.read())
        return Outcome(os.waitstatus_to_exitcode(status), *texts)


def run(*arguments: str, folder: Path, before: Callable[[], object] = lambda: None) -> Outcome:
    """Runs the program in ``folder`` to its end."""
    return Program(*arguments, folder=folder, before=before).wait()


def become(arguments: tuple[str, ...]) -> NoReturn:
    """Goes on as the program with the streams 0, 1 and 2, and ends this process with its status."""

    sys.argv = ["torchmigrate", *arguments]
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout, sys.stderr = (
        io.TextIOWrapper(
            os.fdopen(number, "wb", closefd=False), "utf-8", "strict", line_buffering=number == 2
        )
        for number in (1, 2)
    )
    status: object = 99
    try:
        commands.main()
    except SystemExit as end:
        status = end.code
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else 98)


def without_privileges() -> None:
    """Takes from root in this process what lets it pass by permissions; others have none of that."""
    if os.geteuid() == 0:
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # the version that has two sets of each kind
        sets = (ctypes.c_uint32 * 6)()
        if ctypes.CDLL(None, use_errno=True).capset(header, sets) != 0:
            raise OSError(ctypes.get_errno(), "capset")
