"""What is read of a command, and where it runs."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from torchmigrate.trials.judging_command import CommandOutcome, JudgingCommand, parse_output
from torchmigrate.trials.project_copies import copy_project
from torchmigrate.trials.reference_runs import ReferenceRuns, UnusableCommand

PYTEST = """\
ERROR worker-3 restarted
.F.                                                                      [100%]
=========================== short test summary info ============================
\x1b[31mFAILED\x1b[0m tests/test_a.py::test_b[1 x] - AssertionError: no - not so
ERROR tests/test_c.py
ERROR tests/test_d.py::test_e - ImportError: cannot import name 'f'
\x1b[31m2 failed\x1b[0m, 41 passed, 1 skipped in 3.21s
"""

UNITTEST = """\
======================================================================
FAIL: test_a (tests.test_x.TestX.test_a)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "x.py", line 3, in test_a
    self.assertEqual(1, 2)
AssertionError: 1 != 2

======================================================================
ERROR: test_b (tests.test_x.TestX.test_b)
----------------------------------------------------------------------
RuntimeError: no

Ran 7 tests in 0.001s

FAILED (failures=1, errors=1)
"""


def test_what_pytest_says() -> None:
    outcome = parse_output(PYTEST, 1, 3.2)
    assert outcome.failures == {
        "tests/test_a.py::test_b[1 x]": "AssertionError: no - not so",
        "tests/test_c.py": "",
        "tests/test_d.py::test_e": "ImportError: cannot import name 'f'",
    }
    assert outcome.passed == 41
    assert outcome.last == "2 failed, 41 passed, 1 skipped in 3.21s"


CUT = """\
==================================== ERRORS ====================================
_____________________ ERROR collecting tests/test_c.py ______________________
tests/test_c.py:1: in <module>
    import c
E   ModuleNotFoundError: No module named 'c'
=================================== FAILURES ===================================
_________________________ TestX.test_of_a_long_name[1] _________________________

    def test_of_a_long_name(self, a):
>       f(a)
tests/test_a.py:3:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
E       RuntimeError: something that is too long for the line of a terminal

tests/test_a.py:3: RuntimeError
________________________________ test_other[2] _________________________________
E   assert 1 == 2
=========================== short test summary info ============================
ERROR tests/test_c.py
FAILED tests/test_a.py::TestX::test_of_a_long_name[1] - RuntimeError: somethin...
FAILED tests/test_a.py::test_other[2]
FAILED tests/test_a.py::test_unseen - Asser...
3 failed in 3.21s
"""


def test_what_pytest_cuts_is_read_above() -> None:
    outcome = parse_output(CUT, 1, 3.2)
    assert [*outcome.failures.values()] == [
        "ModuleNotFoundError: No module named 'c'",
        "RuntimeError: something that is too long for the line of a terminal",
        "assert 1 == 2",
        "Asser...",
    ]
    assert outcome.passed == 0


def test_what_unittest_says() -> None:
    outcome = parse_output(UNITTEST, 1, 0.1)
    assert outcome.failures == {
        "test_a (tests.test_x.TestX.test_a)": "AssertionError: 1 != 2",
        "test_b (tests.test_x.TestX.test_b)": "RuntimeError: no",
    }
    assert outcome.passed == 5
    assert parse_output("Ran 1 test in 0.1s\n\nOK\n", 0, 0.1).passed == 1
    assert parse_output("Ran 1 test in 0.1s\n\nFAILED (failures=1)\n", 1, 0.1).passed == 0


def test_an_error_of_the_command_is_no_test_that_fails() -> None:
    outcome = parse_output(
        "ERROR: file or directory not found: tests/no.py\n\nno tests ran in 0.00s\n", 4, 0.1
    )
    assert (outcome.failures, outcome.passed) == ({}, None)


def outcome(
    status: int = 0, *failures: str, passed: int | None = None, timed_out: bool = False
) -> CommandOutcome:
    return CommandOutcome(status, dict.fromkeys(failures, "why"), passed, 1.0, "the end", timed_out)


FINE = outcome(passed=10)


@pytest.mark.parametrize(
    ("baseline", "after", "objection"),
    [
        ((FINE, FINE), FINE, None),
        ((FINE, FINE), outcome(1, "a", "b", passed=8), "a fails (and 1 more): why"),
        ((FINE, FINE), outcome(0, passed=9), "only 9 of 10 tests pass"),
        ((FINE, FINE), outcome(-11), "the command is ended by signal 11: the end"),
        (
            (FINE, FINE),
            outcome(-9, timed_out=True),
            "the command takes longer than 1 s; without fixes it takes 1 s",
        ),
        ((outcome(1, "a"), outcome(1, "a")), outcome(1, "a"), None),
        ((outcome(1, "a"), outcome(1, "a")), outcome(0), None),
        ((outcome(1, "a"), outcome(1, "a")), outcome(2, "a"), "the command exits with 2: the end"),
        ((outcome(0, passed=10), outcome(1, "a", passed=9)), outcome(1, "a", passed=9), None),
    ],
)
def test_what_is_worse_than_before(
    baseline: tuple[CommandOutcome, CommandOutcome], after: CommandOutcome, objection: str | None
) -> None:
    assert ReferenceRuns(*baseline).find_objection(after) == objection


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        (outcome(4), FINE, "exits with 4"),
        (outcome(1, "a", timed_out=True), FINE, "takes longer"),
        (outcome(0), outcome(1), "exits with 1"),
        (
            outcome(2, "a", passed=0),
            outcome(2, "a", passed=0),
            "no test passes even without fixes; a fails: why",
        ),
    ],
)
def test_what_cannot_judge(one: CommandOutcome, other: CommandOutcome, reason: str) -> None:
    with pytest.raises(UnusableCommand, match=reason):
        ReferenceRuns(one, other)


def test_tests_that_tell_nothing_are_said() -> None:
    notes = list(ReferenceRuns(outcome(1, "a", "b"), outcome(1, "a")).iter_notes())
    assert notes == [
        "a fails even without fixes, and cannot judge them",
        "b fails only sometimes without fixes, and cannot judge them",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_copy_is_apart_from_the_project(tmp_path: Path) -> None:
    root = tmp_path / "p"
    for folder in (".git", "src", "__pycache__", "venv"):
        (root / folder).mkdir(parents=True)
    (root / "venv" / "pyvenv.cfg").touch()
    (root / "src" / "a.py").write_bytes(b"1\n")
    (root / "src" / "link.py").symlink_to("a.py")
    (root / "outside").symlink_to("../elsewhere")
    with copy_project(root, {root / "src" / "a.py": b"2\n"}) as copy:
        assert (copy / "src" / "link.py").read_bytes() == b"2\n"
        assert (root / "src" / "a.py").read_bytes() == b"1\n"
        assert sorted(path.name for path in copy.iterdir()) == ["outside", "src", "venv"]
        assert (copy / "venv").readlink() == root / "venv"
        assert (copy / "outside").readlink() == root / "../elsewhere"
    assert not copy.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="the command is one of a POSIX shell")
def test_what_a_command_has_started_ends_with_it(tmp_path: Path) -> None:
    with copy_project(tmp_path, {}) as copy:
        command = JudgingCommand("sleep 60 & echo $! > pid; sleep 60", tmp_path, tmp_path)
        result = command.run(copy, 0.5)
        child = int((copy / "pid").read_text())
        assert result.timed_out
        deadline = time.monotonic() + 30
        while is_running(child) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not is_running(child)


def is_running(process: int) -> bool:
    """Whether a process lives; one that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
