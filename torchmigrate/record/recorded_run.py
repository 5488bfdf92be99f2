"""A run of a command with the recording in its Python processes."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from torchmigrate.record.process_files import JoinedRun, join_processes

HOOK = Path(__file__).with_name("hook")
VARIABLE = "TORCHMIGRATE_RECORD"


def record_command(
    command: Sequence[str], root: str, folder: str, options: Mapping[str, object]
) -> tuple[int, JoinedRun]:
    """Run a command as it would run alone, and return its status and what its processes have recorded.

    The status is negative if a signal has ended the command. Raises OSError if it cannot be started.
    """
    os.makedirs(folder, exist_ok=True)
    own = tempfile.mkdtemp(prefix="run-", dir=folder)
    try:
        status = _run(command, _build_environment(own, root, options))
        return status, join_processes(own)
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _build_environment(folder: str, root: str, options: Mapping[str, object]) -> dict[str, str]:
    given = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path != str(HOOK)]
    paths = [str(HOOK), *(given if any(given) else [])]
    told = {"folder": os.path.abspath(folder), "root": os.path.realpath(root), **options}
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), VARIABLE: json.dumps(told)}


def _run(command: Sequence[str], environment: Mapping[str, str]) -> int:
    with _HandedOnSignals() as signals:
        process = subprocess.Popen(command, env=environment)
        signals.process = process
        return process.wait()


class _HandedOnSignals:
    """A context that hands the signals on to the command, which decides what they mean."""

    _NAMES = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT", "SIGINT")

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._before: dict[int, object] = {}

    def __enter__(self) -> _HandedOnSignals:
        for name in self._NAMES:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                with contextlib.suppress(ValueError, OSError):
                    self._before[number] = signal.signal(number, self._hand_on)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _hand_on(self, number: int, _: FrameType | None) -> None:
        from_terminal = number in (signal.SIGINT, getattr(signal, "SIGQUIT", None)) and sys.stdin.isatty()
        if self.process is not None and not from_terminal:
            with contextlib.suppress(OSError):
                self.process.send_signal(number)


def end_like(status: int) -> int:
    """Return the exit status of a command; end by the signal that has ended it, if one has."""
    if status < 0 and sys.platform != "win32":
        with contextlib.suppress(OSError, ValueError):
            if -status not in (signal.SIGKILL, signal.SIGSTOP):
                signal.signal(-status, signal.SIG_DFL)
            os.kill(os.getpid(), -status)
    return status if status >= 0 else 128 - status
