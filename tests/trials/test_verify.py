"""`fix --verify` keeps what a project's own tests are content with, and touches the project only then."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.trials.test_command import is_running

PROJECT = {
    "pyproject.toml": "[project]\nname = 'p'\nversion = '1'\ndependencies = ['torch>=2.13']\n",
    "src/p/__init__.py": "",
    "src/p/types.py": (
        "from typing import List\n\nimport torch\n\n\n"
        "def one() -> List[int]:\n    x = torch.jit.annotate(List[int], [])\n    return x\n\n\n"
        "def two() -> List[float]:\n    y = torch.jit.annotate(List[float], [])\n    return y\n"
    ),
    "src/p/capture.py": (
        "import torch\n\n\ndef capturing() -> bool:\n    return torch.cuda.is_current_stream_capturing()\n"
    ),
}

JUDGE = """
import os, pathlib, sys
folder = pathlib.Path({folder})
count = pathlib.Path({count})
runs = int(count.read_text() or 0) + 1 if count.exists() else 1
count.write_text(str(runs))
types, capture = (folder / "types.py").read_text(), (folder / "capture.py").read_text()
failures = []
def fails(name, why):
    failures.append(name)
    print("FAILED", name, "-", why)
{rules}
print(f"{{9 - len(failures)}} passed")
sys.exit(bool(failures))
"""


class Done(NamedTuple):
    """How a run ended."""

    status: int
    out: str
    err: str
    runs: int

    @property
    def verified(self) -> dict[str, Any]:
        """What its JSON says of the command."""
        report: dict[str, Any] = json.loads(self.out)["verified"]
        return report


class Project:
    """A small project, and a command that judges it."""

    def __init__(self, root: Path) -> None:
        self.root = root / "project"
        for name, text in PROJECT.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        self._judge = root / "judge.py"
        self._count = root / "count"

    def judged(self, *rules: str, folder: str = "'src/p'", before: str = "") -> str:
        """The command line of a judge, which ``fails(test, why)`` when one of these lines says so."""
        text = JUDGE.format(folder=folder, count=repr(str(self._count)), rules="\n".join(rules))
        self._judge.write_text(before + text)
        return shlex.join([sys.executable, str(self._judge)])

    def run(self, judge: str, *options: str) -> Done:
        """`fix --apply --verify`."""
        command = [sys.executable, "-m", "torchmigrate", "fix", "--apply", "--unsafe", "--verify", judge]
        done = subprocess.run(
            [*command, *options], cwd=self.root, capture_output=True, text=True, check=False
        )
        assert "Traceback" not in done.stderr
        runs = int(self._count.read_text()) if self._count.exists() else 0
        return Done(done.returncode, done.stdout, done.stderr, runs)

    def changed(self) -> dict[str, str]:
        """The files that are not what they were."""
        now = {path: (self.root / path).read_text() for path in PROJECT}
        assert {
            path.relative_to(self.root).as_posix() for path in self.root.rglob("*") if path.is_file()
        } == {*PROJECT}
        return {path: text for path, text in now.items() if text != PROJECT[path]}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_all_fixes_stay_that_break_nothing(project: Project) -> None:
    done = project.run(project.judged())
    assert (done.status, done.runs) == (0, 3)
    assert project.changed().keys() == {"src/p/types.py", "src/p/capture.py"}
    assert "in 3 runs: 3 fixes kept, 0 left out, 9 tests passed before and 9 after" in done.out


def test_the_one_fix_that_breaks_something_is_left_out(project: Project) -> None:
    judge = project.judged("if 'annotate(List[float]' not in types: fails('test_two', 'no floats')")
    done = project.run(judge, "--output-format", "json")
    assert done.status == 1
    changed = project.changed()
    assert changed.keys() == {"src/p/types.py", "src/p/capture.py"}
    assert "x: List[int] = []" in changed["src/p/types.py"]
    assert "y = torch.jit.annotate(List[float], [])" in changed["src/p/types.py"]
    (left_out,) = done.verified["left_out"]
    assert (left_out["code"], left_out["line"]) == ("TS154", 12)
    assert left_out["reason"] == "test_two fails: no floats"
    assert done.verified["kept"] == 2
    assert done.verified["passed_after"] == 9
    assert done.verified["runs"] == done.runs <= 7


def test_when_runs_are_used_up_what_is_not_proved_is_left_out(project: Project) -> None:
    judge = project.judged("if 'annotate(List[float]' not in types: fails('test_two', 'no floats')")
    done = project.run(judge, "--verify-runs", "4")
    assert (done.status, done.runs) == (1, 4)
    assert "annotate(List[float], [])" in (project.root / "src/p/types.py").read_text()
    assert "not verified within 4 runs" in done.out


def test_what_fails_anyway_or_only_sometimes_is_said(project: Project) -> None:
    rules = ("fails('test_old', 'broken')", "if runs == 2: fails('test_flaky', 'sometimes')")
    done = project.run(project.judged(*rules))
    assert done.status == 0
    assert project.changed()
    assert "note: test_old fails even without fixes" in done.out
    assert "note: test_flaky fails only sometimes" in done.out


def test_a_command_that_cannot_judge_changes_nothing(project: Project) -> None:
    done = project.run("echo oh no; exit 4")
    assert (done.status, project.changed()) == (2, {})
    assert "without fixes, it exits with 4: oh no" in done.err


IMPORTS = "import p\n"


def test_what_is_imported_is_the_copy(project: Project) -> None:
    """As with an editable installation, the environment leads to the project itself."""
    judge = project.judged(
        "if 'annotate(List[float]' not in types: fails('test_types', 'gone')",
        folder="__import__('os').path.dirname(p.__file__)",
        before=f"import sys\nsys.path.append({str(project.root / 'src')!r})\n{IMPORTS}",
    )
    done = project.run(judge)
    assert done.status == 1
    assert "without fixes, on what it imports" in done.err
    assert "2 fixes kept, 1 left out" in done.out


def test_a_command_that_insists_on_the_project_itself_cannot_judge(project: Project) -> None:
    before = f"import sys\nsys.path.insert(0, {str(project.root / 'src')!r})\n{IMPORTS}"
    done = project.run(project.judged(before=before))
    assert (done.status, project.changed()) == (2, {})
    assert "instead of the copy of the project" in done.err


def test_it_gets_the_environment_that_is_asked_for(project: Project) -> None:
    judge = project.judged("if os.environ['MODE'] != 'a=b': fails('test_mode', '')")
    assert project.run(judge, "--verify-env", "MODE=a=b").status == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--verify-env", "MODE"), "NAME=VALUE"),
        (("--verify-runs", "1"), "4"),
        (("-",), "cannot be used with standard input"),
        (("--interactive",), "cannot be used together"),
    ],
)
def test_wrong_usage(project: Project, options: tuple[str, ...], message: str) -> None:
    done = project.run("true", *options)
    assert (done.status, project.changed()) == (2, {})
    assert message in done.err


@pytest.mark.skipif(sys.platform == "win32", reason="the signal is one of POSIX")
@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_leaves_the_project_as_it_was(
    project: Project, tmp_path: Path, sent: signal.Signals, status: int
) -> None:
    (tmp_path / "copies").mkdir()
    started = tmp_path / "started"
    judge = project.judged(
        "import time",
        f"if runs == 3: pathlib.Path({str(started)!r}).write_text(str(os.getpid())); time.sleep(60)",
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "torchmigrate", "fix", "--apply", "--unsafe", "--verify", judge],
        cwd=project.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(tmp_path / "copies")},
    )
    deadline = time.monotonic() + 60
    while not (started.exists() and started.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(sent)
    assert process.wait(60) == status
    assert project.changed() == {}
    assert list((tmp_path / "copies").iterdir()) == []
    while is_running(int(started.read_text())) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(int(started.read_text()))
