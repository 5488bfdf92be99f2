"""Killed anywhere, ``fix --apply`` leaves every file old or new, and the next run completes the work.

A kill from outside would hit the short phase of writing by luck only. Here the process kills itself before or after
one of the calls by which it changes the file system; which one is drawn, so that the kills lie all over that phase.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import mmap
import os
import random
import signal
import struct
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support import CHECK, FIX, NEW, OLD, Program, contents, many, plant, run
from torchmigrate.run import parallel, transaction
from torchmigrate.run.journals import find_journals

FILES = 200
KILLS = 40
CALLS = ("open", "dup", "chown", "chmod", "replace", "unlink", "close")
"""The functions of `os` by which a file is replaced."""


class Killer:
    """Kills this process when it has counted to ``at``; 0: never. What it counts to is seen from outside."""

    def __init__(self, at: int, counter: mmap.mmap) -> None:
        self.at = at
        self.number = 0
        self._counter = counter

    def count(self) -> None:
        """Counts one point at which the process may be killed."""
        self.number += 1
        self._counter[:8] = struct.pack("q", self.number)
        if self.number == self.at:
            os.kill(os.getpid(), signal.SIGKILL)

    def arm(self) -> None:
        """Makes a point before and after each call that changes a file, and in the midst of writing."""
        for name in CALLS:
            setattr(os, name, self._counting(getattr(os, name)))
        # A killed process loses nothing that the system has been given: syncing would only take time.
        os.fsync = lambda fd: self.count()
        os.fdopen = lambda handle, mode: InHalves(handle, mode, self.count)  # type: ignore[assignment]
        io.open = self._opening(io.open)

    def _opening(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def open_in_halves(path: Any, mode: str = "r", *arguments: Any, **named: Any) -> Any:
            if mode == "wb":
                return InHalves(path, mode, self.count)
            return function(path, mode, *arguments, **named)

        return open_in_halves

    def _counting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            self.count()
            result = function(*arguments, **named)
            self.count()
            return result

        return call


class InHalves(io.FileIO):
    """A file that is written half by half."""

    def __init__(self, file: Any, mode: str, between: Callable[[], None]) -> None:
        super().__init__(file, mode)
        self._between = between

    def write(self, data: Any) -> int:
        half = len(data) // 2
        written = super().write(data[:half])
        self._between()
        return written + super().write(data[half:])


class Stage:
    """A run that has worked out all fixes and is about to write the first file: each kill is one of a fork of it."""

    def __init__(self, tree: Path) -> None:
        self._counter = mmap.mmap(-1, 8)
        order, self._orders = os.pipe()
        self._statuses, status = os.pipe()
        self._program = Program(*FIX, ".", folder=tree, before=lambda: self._wait_at_writing(order, status))
        os.close(order)
        os.close(status)

    def killed(self, at: int) -> int:
        """Goes on until the point ``at`` and is killed there (0: goes on to the end); returns the exit status."""
        os.write(self._orders, struct.pack("q", at))
        (status,) = struct.unpack("q", os.read(self._statuses, 8))
        return int(status)

    @property
    def points(self) -> int:
        """The points that the last one passed."""
        (number,) = struct.unpack("q", self._counter[:8])
        return int(number)

    def close(self) -> None:
        """Ends the run that waits."""
        os.close(self._orders)
        os.close(self._statuses)
        self._program.wait()

    def _wait_at_writing(self, orders: int, statuses: int) -> None:
        """Called in the run at its start: sees to it that it waits for orders before it writes anything."""
        os.close(self._orders)
        original = transaction.write_together

        def staged(*arguments: Any) -> Any:
            transaction.write_together = original
            while order := os.read(orders, 8):
                if (child := os.fork()) == 0:
                    Killer(struct.unpack("q", order)[0], self._counter).arm()
                    return original(*arguments)
                _, status = os.waitpid(child, 0)
                os.write(statuses, struct.pack("q", os.waitstatus_to_exitcode(status)))
            os._exit(0)

        transaction.write_together = staged  # type: ignore[assignment]


def test_a_kill_while_files_are_written_leaves_each_old_or_new_and_a_rerun_completes(memory: Path) -> None:
    before = many(FILES)
    tree = plant(memory / "tree", before)
    stage = Stage(tree)
    assert stage.killed(at=0) == 0
    points, after = stage.points, contents(tree)
    assert [name for name in before if after[name] == before[name]] == []
    assert after.keys() == before.keys()
    assert points > 15 * FILES

    found, reruns = after, 0
    left_in_half: set[bytes] = set()
    for at in random.Random(1).sample(range(1, points + 1), KILLS):
        plant(tree, {name: data for name, data in before.items() if found[name] != data})
        assert stage.killed(at) == -signal.SIGKILL
        found = contents(tree)
        leftovers = {name: found.pop(name) for name in found.keys() - before.keys()}
        assert [name for name, data in found.items() if data not in (before[name], after[name])] == [], at
        assert found.keys() == before.keys()
        assert len(leftovers) <= 1
        assert all(Path(name).match(".torchmigrate-*.tmp") for name in leftovers)
        left_in_half.update(data for data in leftovers.values() if data not in after.values())
        if leftovers and reruns < 5:
            reruns += 1
            assert run(*FIX, ".", folder=tree).status == 0
            found = contents(tree)
            assert found == after
        for name in leftovers:
            (tree / name).unlink(missing_ok=True)
    stage.close()
    assert reruns == 5
    assert len(left_in_half) > 1


def test_a_kill_at_any_other_moment_leaves_no_process_and_a_rerun_completes(memory: Path) -> None:
    before, after = many(60), {}
    counter = mmap.mmap(-1, 8)

    def counting(at: int) -> Callable[[], None]:
        def start() -> None:
            parallel.WORTHWHILE = 50
            killer, main, thread = Killer(at, counter), os.getpid(), threading.get_ident()

            def count(event: str, arguments: object) -> None:
                if os.getpid() == main and threading.get_ident() == thread:
                    killer.count()

            sys.addaudithook(count)

        return start

    tree = plant(memory / "tree", before)
    assert run(*FIX, "--jobs", "2", ".", folder=tree, before=counting(0)).status == 0
    (points,), after = struct.unpack("q", counter[:8]), contents(tree)
    assert after["p1/m00001.py"] == NEW
    assert points > 1000
    killed = 0
    for at in random.Random(2).sample(range(1, points), 9):
        plant(tree, before)
        status = run(*FIX, "--jobs", "2", ".", folder=tree, before=counting(at)).status
        if struct.unpack("q", counter[:8])[0] < at:  # fewer events than in the first run: it was over before
            assert status == 0
            continue
        assert status == -signal.SIGKILL
        killed += 1
        assert run(*FIX, ".", folder=tree).status == 0
        assert contents(tree) == after
    assert killed > 5


def test_a_leftover_is_no_file_to_check(tmp_path: Path) -> None:
    tree = plant(tmp_path, {"a.py": OLD, ".torchmigrate-0123456789abcdef.tmp": OLD})
    assert run(*FIX, ".", folder=tree).status == 0
    assert contents(tree) == {"a.py": NEW, ".torchmigrate-0123456789abcdef.tmp": OLD}


TOGETHER = {"a.py": b"one\n", "p/b.py": b"two\n", "p/c.py": b"three\n"}


def killed_together(tree: Path, at: int, counter: mmap.mmap) -> int:
    """The exit status of a process that replaces three files together and is killed at the point ``at``."""
    if (child := os.fork()) == 0:
        Killer(at, counter).arm()
        transaction.write_together([(str(tree / name), NEW, old) for name, old in TOGETHER.items()], tree)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def test_a_kill_between_files_that_go_together_is_made_good(memory: Path) -> None:
    counter = mmap.mmap(-1, 8)
    tree = plant(memory, TOGETHER)
    assert killed_together(tree, 0, counter) == 0
    (points,) = struct.unpack("q", counter[:8])
    assert points > 50
    half = 0
    for at in range(1, points + 1):
        plant(tree, TOGETHER)
        assert killed_together(tree, at, counter) == -signal.SIGKILL
        found = contents(tree)
        are_new = {found[name] == NEW for name in TOGETHER}
        places = {str(tree.resolve() / name) for name in TOGETHER}
        left = [one for journal in find_journals(tree) if (one := transaction.read_journal(journal, places))]
        assert any(one.is_partial for one in left) == (len(are_new) == 2), at
        half += len(are_new) == 2
        for one in left:
            one.complete()
        found = contents(tree)
        assert len({found[name] == NEW for name in TOGETHER}) == 1, at
        for name in found.keys() - TOGETHER.keys():
            assert name.endswith(".tmp")
            (tree / name).unlink()
    assert half > 3


def test_what_was_left_half_done_is_said_and_completed(tmp_path: Path) -> None:
    counter = mmap.mmap(-1, 8)
    tree = plant(tmp_path / "tree", {**TOGETHER, "pyproject.toml": b""})
    at = 0
    while {data == NEW for name, data in contents(tree).items() if name in TOGETHER} != {True, False}:
        plant(tree, TOGETHER)
        at += 1
        assert killed_together(tree, at, counter) == -signal.SIGKILL
    done = run(*CHECK, "--output-format", "json", ".", folder=tree)
    assert (done.status, [*done.errors]) == (2, ["p/b.py", "p/c.py"])
    assert (
        "a killed run changed a.py, but not this file, which belongs to the same fix: `torchmigrate fix"
        in done.errors["p/b.py"]
    )
    assert run(*CHECK, "p", folder=tree).status == 2
    kept = contents(tree)

    (tree / "p/c.py").write_bytes(b"x = 1\n")
    done = run(*FIX, "--output-format", "json", ".", folder=tree)
    assert "has been edited since: compare the files" in done.errors["p/c.py"]
    assert contents(tree)["p/b.py"] == TOGETHER["p/b.py"]
    assert run(*FIX, ".", folder=tree).status == 0

    plant(tree, kept)
    done = run(*FIX, ".", folder=tree)
    assert (done.status, b"p/b.py: changed, to complete the fix of a killed run" in done.err) == (
        0,
        True,
    )
    assert contents(tree) == {**dict.fromkeys(TOGETHER, NEW), "pyproject.toml": b""}


def test_a_journal_that_is_none_is_removed(tmp_path: Path) -> None:
    tree = plant(tmp_path, {"a.py": OLD, ".torchmigrate-0.journal": b"[" * 9999})
    assert run(*CHECK, "a.py", folder=tree).status == 0
    assert run(*FIX, ".", folder=tree).status == 0
    assert contents(tree) == {"a.py": NEW}


@pytest.mark.parametrize("path", ["../out.py", ".venv/out.py", ".git/config"])
def test_a_journal_that_came_with_a_project_changes_nothing_but_what_fixes_may(
    tmp_path: Path, path: str
) -> None:
    entries = [
        {"path": name, "before": hashlib.sha256(OLD).hexdigest(), "after": base64.b64encode(NEW).decode()}
        for name in ("done.py", path)
    ]
    files = {"done.py": NEW, ".torchmigrate-0.journal": json.dumps(entries).encode()}
    tree = plant(tmp_path / "tree", files)
    (tree / path).parent.mkdir(exist_ok=True)
    (tree / path).write_bytes(OLD)
    run(*FIX, ".", folder=tree)
    assert (tree / path).read_bytes() == OLD
