"""The command that judges fixes: it runs in a copy of the project, and its output is parsed for test results."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

WATCH = Path(__file__).with_name("watch")

FAILED = re.compile(r"^(?:FAILED|ERROR) (?P<test>\S+?(?:\[.*?\])?)(?: - (?P<message>.*))?$", re.M)
"""A line of pytest's summary, https://docs.pytest.org/en/stable/how-to/output.html"""

SUMMARY = "short test summary info"
"""The heading of that summary; only lines after it count, since lines of a log may look the same."""

UNITTEST = re.compile(r"^={9,}\n(?:FAIL|ERROR): (?P<test>.+)$", re.M)
"""The head of a failure of unittest, https://docs.python.org/3/library/unittest.html"""

PASSED = re.compile(r"\b(\d+) passed\b")
PYTEST = re.compile(r"^=* ?\d+ (?:failed|errors?|skipped|xfailed|deselected|warnings?)\b.* in [\d.]+s", re.M)
"""The last line of pytest if no test has passed."""
RAN = re.compile(r"^Ran (?P<tests>\d+) tests? in .*\n\n(?:OK|FAILED|NO TESTS RAN)(?P<others>.*)$", re.M)
"""The last lines of unittest, with the number of tests, and of those that did not pass."""
RAISED = re.compile(r"^(?:E   +)?(\w+(?:\.\w+)*(?:Error|Exception|Failure)\b.*)$", re.M)


@dataclass(frozen=True)
class CommandOutcome:
    """The outcome of one run of the command."""

    status: int
    """The exit status; negative if a signal ended the command."""
    failures: Mapping[str, str]
    """The failed tests, as the command names them, with the first line of their messages."""
    passed: int | None
    """The number of passed tests, if the command prints it."""
    seconds: float
    last: str
    """The last printed line."""
    timed_out: bool = False
    imported: frozenset[str] = frozenset()
    """The folders of the original project, instead of the copy, that the command imported from."""

    @property
    def description(self) -> str:
        """The end of the command as a predicate: "exits with 1: …"."""
        if self.timed_out:
            return f"takes longer than {self.seconds:.0f} s"
        end = f"is ended by signal {-self.status}" if self.status < 0 else f"exits with {self.status}"
        return f"{end}: {self.last}" if self.last else end


@dataclass
class JudgingCommand:
    """A shell command for the project at ``root``, with the environment that lets it find a copy instead."""

    text: str
    root: Path
    folder: Path
    """The working directory, within ``root``."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables to add to the environment of this process."""
    imports: tuple[str, ...] = ()
    """Folders of the project that the command imports from, for which PYTHONPATH has to name those of the copy."""

    def run(self, copy: Path, timeout: float) -> CommandOutcome:
        """Run the command in a copy of the project; after ``timeout`` seconds its process group is killed."""
        with tempfile.TemporaryDirectory(prefix="torchmigrate-") as folder:
            log, printed = Path(folder, "imported"), Path(folder, "printed")
            begin = time.monotonic()
            with printed.open("wb") as out:
                process = subprocess.Popen(
                    self.text,
                    shell=True,
                    cwd=copy / self.folder.relative_to(self.root),
                    env=self._build_environment(copy, log),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                timed_out = False
                try:
                    process.wait(timeout)
                except subprocess.TimeoutExpired:
                    timed_out = True
                finally:
                    _kill_process_group(process)
            seconds = time.monotonic() - begin
            text = printed.read_bytes().decode("utf-8", "replace")
            imported = log.read_text("utf-8", "surrogateescape").splitlines() if log.exists() else []
        return parse_output(text, process.returncode, seconds, timed_out=timed_out, imported=imported)

    def _build_environment(self, copy: Path, log: Path) -> dict[str, str]:
        variables = {**os.environ, **self.environment}
        given = variables.get("PYTHONPATH", "").split(os.pathsep)
        paths = [str(WATCH), *self.imports, *filter(None, given)]
        here = [self._map_to_copy(path, copy) for path in paths]
        return {
            **variables,
            "PWD": str(copy / self.folder.relative_to(self.root)),
            "PYTHONPATH": os.pathsep.join(dict.fromkeys(here)),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TORCHMIGRATE_ORIGINAL": str(self.root),
            "TORCHMIGRATE_WATCH": str(log),
        }

    def _map_to_copy(self, path: str, copy: Path) -> str:
        real = Path(os.path.realpath(path))
        return str(copy / real.relative_to(self.root)) if real.is_relative_to(self.root) else path

    def __str__(self) -> str:
        return self.text if "`" in self.text else f"`{self.text}`"


def parse_output(
    text: str, status: int, seconds: float, *, timed_out: bool = False, imported: Iterable[str] = ()
) -> CommandOutcome:
    """Parse the outcome of a run from its output and exit status."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    failures = {
        found["test"]: _find_full_message(found["message"] or "", found["test"], plain)
        for found in FAILED.finditer(plain.rpartition(SUMMARY)[2])
    }
    for found in UNITTEST.finditer(plain):
        raised = RAISED.search(plain, found.end())
        failures.setdefault(found["test"], raised[1] if raised else "")
    lines = [line.strip() for line in plain.splitlines() if line.strip()]
    last = lines[-1] if lines else ""
    return CommandOutcome(
        status, failures, _count_passed(plain), seconds, last, timed_out, frozenset(imported)
    )


def _find_full_message(message: str, test: str, text: str) -> str:
    """Return the full message of a failed test, which pytest's summary cuts to the width of a terminal."""
    if message and not message.endswith("..."):
        return message
    file, _, name = test.partition("::")
    heading = rf"^_+ (?:ERROR [a-z ]+ )?{re.escape(name.replace('::', '.') or file)} _+$"
    shown = re.search(heading + r"(?:\n(?!_+ [^_ ]).*)*?\nE +(?P<message>.*)$", text, re.M)
    return shown["message"] if shown else message


def _count_passed(text: str) -> int | None:
    """Return the number of passed tests that pytest or unittest prints, or None."""
    if passed := PASSED.findall(text):
        return int(passed[-1])
    if ran := RAN.search(text):
        return max(0, int(ran["tests"]) - sum(map(int, re.findall(r"=(\d+)", ran["others"]))))
    return 0 if PYTEST.search(text) else None


def _kill_process_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a command with all processes that it has started."""
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
