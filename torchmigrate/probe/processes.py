"""Questions to other processes, which may raise, hang, crash or print anything: there is always an answer.

A question is one of `torchmigrate.probe.snippets`, run as ``python -c`` in an empty folder, so that nothing in the current
folder is imported. It answers in a file, never on stdout, where the code that it imports may print. ``PYTHONPATH`` and the
user's site-packages stay: they are part of what the user's programs see.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import IO, Any, Literal

ProcessOutcome = Literal["ok", "raised", "hung", "killed"]


@dataclass(frozen=True, slots=True)
class ProcessAnswer:
    """The answer of a process: ``data`` from its result file where the outcome is ``ok``, else ``detail`` on why not."""

    outcome: ProcessOutcome
    data: dict[str, Any] = field(default_factory=dict)
    detail: str | None = None
    output: str = ""
    """The end of standard output, for programs that answer there; at most `MOST_OUTPUT` characters."""
    stage: str | None = None
    """What the process did last, if it keeps a file ``stage`` beside its answer."""


DEFAULT_LIMIT = 3.0
"""Seconds for a question without a limit of its own."""

MOST_OUTPUT = 1 << 16


def read_snippet(name: str, package: str = "torchmigrate.probe") -> str:
    """Return the source text of a snippet."""
    return (resources.files(package) / "snippets" / f"{name}.py").read_text("utf-8")


def ask_snippet(
    python: str, script: str, limit: float, environ: Mapping[str, str], given: str | None = None
) -> ProcessAnswer:
    """Run the text of a snippet in the interpreter ``python``, for at most ``limit`` seconds, and return its answer.

    The file that the answer replaces holds ``given`` before, which may be longer than an argument.
    """
    with tempfile.TemporaryDirectory(prefix="torchmigrate-", ignore_cleanup_errors=True) as folder:
        result = Path(folder) / "answer.json"
        empty = Path(folder) / "empty"
        empty.mkdir()
        if given is not None:
            result.write_text(given, "utf-8")
        answer = run_program([python, "-c", script, str(result)], limit, environ, cwd=empty)
        if (stage := Path(folder) / "stage").exists():
            answer = replace(answer, stage=stage.read_text("utf-8"))
        if answer.outcome != "ok":
            return answer
        try:
            data = json.loads(result.read_text("utf-8"))
        except (OSError, ValueError):
            detail = answer.detail or "the process ended without an answer"
            return replace(answer, outcome="raised", detail=detail)
        if not isinstance(data, dict):
            return replace(answer, outcome="raised", detail="the answer is malformed")
        return replace(answer, data=data)


def run_program(
    command: Sequence[str], limit: float, environ: Mapping[str, str], cwd: Path | None = None
) -> ProcessAnswer:
    """Run a program to its end, or kill it and its children after ``limit`` seconds."""
    try:
        process = start_program(command, environ, cwd)
    except OSError as error:
        return ProcessAnswer("raised", detail=error.strerror or type(error).__name__)
    texts = [PipeDrain(process.stdout), PipeDrain(process.stderr)]
    try:
        process.wait(limit)
    except subprocess.TimeoutExpired:
        kill_program(process)
        return ProcessAnswer("hung", detail=f"timed out after {limit:g} s")
    except BaseException:
        kill_program(process)
        raise
    finally:
        output, errors = (text.read_text() for text in texts)
    detail = find_last_line(errors)
    if death := describe_termination(process.returncode):
        return ProcessAnswer("killed", detail=death)
    if process.returncode:
        return ProcessAnswer("raised", detail=detail or f"exit status {process.returncode}", output=output)
    return ProcessAnswer("ok", detail=detail, output=output)


def start_program(
    command: Sequence[str], environ: Mapping[str, str], cwd: Path | None
) -> subprocess.Popen[bytes]:
    """Start a program in a process group of its own, with an empty standard input. Raises `OSError`."""
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen(
        command, stdin=null, stdout=pipe, stderr=pipe, cwd=cwd, env=dict(environ), start_new_session=True
    )


def kill_program(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and, where the system has process groups, everything that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (AttributeError, ProcessLookupError, PermissionError):  # Windows has no groups
        process.kill()
    # A process that waits in the kernel for a broken driver cannot be killed: leave it.
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(2)


def describe_termination(status: int) -> str | None:
    """Return the signal (or the Windows exception code) that ended a process; None where it ended by itself."""
    if status < 0:
        try:
            return signal.Signals(-status).name
        except ValueError:
            return f"signal {-status}"
    if status >= 0xC0000000:
        return f"0x{status:08X}"
    return None


class PipeDrain:
    """A pipe that is read in the background, so that its writer is never blocked; the end of the text is kept."""

    def __init__(self, pipe: IO[bytes] | None) -> None:
        self._pipe = pipe
        self._kept: collections.deque[bytes] = collections.deque(maxlen=MOST_OUTPUT // 4096)
        self._thread = threading.Thread(target=self._drain_pipe, daemon=True)
        self._thread.start()

    def _drain_pipe(self) -> None:
        if self._pipe is not None:
            with self._pipe:
                while chunk := os.read(self._pipe.fileno(), 4096):
                    self._kept.append(chunk)

    def read_text(self) -> str:
        """Return the text that came, undecodable bytes replaced."""
        # A grandchild may hold the pipe open after the child is gone: do not wait for its end.
        self._thread.join(0.3)
        return b"".join(self._kept).decode("utf-8", "replace")


def find_last_line(text: str) -> str | None:
    """Return the last line of a traceback or an error message, without folders; None for an empty text."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return shorten_paths(lines[-1])[:500] if lines else None


def shorten_paths(text: str) -> str:
    """Return the text with every path cut to its last part."""
    # Facts may be published, and paths name users and machines.
    return re.sub(r"(?<![\w.:/])(?:[A-Za-z]:)?[\\/](?:[^\s:;'\"(),\\/]+[\\/])+", "", text)
