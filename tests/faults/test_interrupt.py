"""Ctrl-C at any moment: status 130, every file old or new, no process left behind, no traceback."""

from __future__ import annotations

import mmap
import os
import random
import re
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.support import FIX, contents, many, plant, run
from torchmigrate.cli import session
from torchmigrate.project.file_search import InputFile
from torchmigrate.run import parallel
from torchmigrate.run.file_checker import FileChecker

FILES = many(40)


class Interrupter:
    """Sends the signal of Ctrl-C to all processes of a run at the ``at``-th event that the interpreter audits.

    That is any import, file operation, start of a process, parse; ``number`` is how many there were. Those of the main
    thread count, whose order does not depend on what other threads and processes are doing.
    """

    def __init__(self) -> None:
        self._counter = mmap.mmap(-1, 8)

    @property
    def number(self) -> int:
        (number,) = struct.unpack("q", self._counter[:8])
        return int(number)

    def at(self, at: int) -> Callable[[], None]:
        """What a run does first to be interrupted; 0: never."""

        def start() -> None:
            parallel.WORTHWHILE = 20
            number, main, thread = 0, os.getpid(), threading.get_ident()

            def count(event: str, arguments: object) -> None:
                nonlocal number
                if os.getpid() == main and threading.get_ident() == thread:
                    number += 1
                    self._counter[:8] = struct.pack("q", number)
                    if number == at:
                        os.killpg(main, signal.SIGINT)

            begin = session.Session.__init__

            def begun(self: session.Session, **given: Any) -> None:
                sys.addaudithook(count)
                begin(self, **given)

            session.Session.__init__ = begun  # type: ignore[assignment, method-assign]

        return start


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_at_any_moment(memory: Path, jobs: str) -> None:
    tree = plant(memory, FILES)
    interrupter = Interrupter()
    arguments = (*FIX, "--jobs", jobs, ".")
    assert run(*arguments, folder=tree, before=interrupter.at(0)).status == 0
    after, points = contents(tree), interrupter.number
    assert points > 1_000
    partly = 0
    choose = random.Random(jobs)
    late = points - 4 * len(FILES)  # where files are written
    moments = choose.sample(range(1, late), 8) + choose.sample(range(late, points - 1), 8)
    tried = 0
    for at in moments:
        plant(tree, FILES)
        done = run(*arguments, folder=tree, before=interrupter.at(at))
        # With fewer events than in the first run, it was over before.
        if interrupter.number < at or done.status == 0:
            assert (done.status, contents(tree)) == (0, after)
            continue
        tried += 1
        assert (done.status, done.out) == (130, b""), (at, done)
        assert b"Traceback" not in done.err, (at, done)
        found = contents(tree)
        assert found.keys() == FILES.keys()
        assert all(data in (FILES[name], after[name]) for name, data in found.items())
        partly += FILES != found != after
    assert tried > len(moments) // 2
    assert partly > 0


def test_an_interrupt_while_processes_work(tmp_path: Path) -> None:
    plant(tmp_path, FILES)

    def start() -> None:
        parallel.WORTHWHILE = 20
        main, look = os.getpid(), FileChecker.check_file

        def interrupting(self: FileChecker, path: str, file: InputFile) -> object:
            if os.getpid() != main and path.endswith("m00007.py"):
                os.killpg(main, signal.SIGINT)
            return look(self, path, file)

        FileChecker.check_file = interrupting  # type: ignore[assignment, method-assign]

    done = run(*FIX, "--jobs", "2", ".", folder=tmp_path, before=start)
    assert (done.status, done.out) == (130, b"")
    assert b"Traceback" not in done.err
    assert contents(tmp_path) == FILES


def test_ctrl_c_during_the_first_imports_says_nothing(tmp_path: Path) -> None:
    listing = started("print(*sys.modules, file=sys.stderr)", tmp_path)
    names = [name for name in listing[1].split() if ".rules." not in name]  # those go past the hook
    ours = names[names.index("torchmigrate") :]
    assert {"click", "torchmigrate.cli.commands", "torchmigrate.engine.engine"} <= set(ours)
    for name in [*random.Random(20).sample(ours[2:], 6), "torchmigrate.cli.commands"]:
        status, said = started(INTERRUPTING.format(name=name), tmp_path)
        assert status == 130, name
        assert re.fullmatch("(torchmigrate: .* to .*)?", said), (
            name
        )  # what is imported late comes behind the heading


def started(after: str, folder: Path) -> tuple[int, str]:
    """How the program ends that is started as its command does, with an audit hook or something to do at the end."""
    program = "import sys\nimport atexit\n"
    program += after if after.startswith("def") else f"atexit.register(lambda: {after})\n"
    program += "from torchmigrate.__main__ import main\nsys.argv = ['torchmigrate', 'check', '-', '--no-cache']\nmain()\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        input=b"import torch\ntorch.jit.script(f)\n",
        capture_output=True,
    )
    return done.returncode, done.stderr.decode().strip("\n")  # click ends the line of ^C


INTERRUPTING = """\
def watch(event, arguments):
    if event == "import" and arguments[0] == "{name}":
        raise KeyboardInterrupt
sys.addaudithook(watch)
"""
