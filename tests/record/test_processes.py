"""Recording in processes of every kind: it reaches them, loses nothing, and changes nothing."""

from __future__ import annotations

import glob
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .projects import build_environment, count_warnings, create_project, read_facts, record, run_tool

PLAIN = "import torch\nfor _ in range(3):\n    torch.old()\n"
INTERPRETERS = sorted(
    path
    for version in ("3.8", "3.9", "3.10", "3.12", "3.13", "3.14")
    for path in glob.glob(os.path.expanduser(f"~/.pyenv/versions/{version}.*/bin/python"))
)
"""Other Pythons on this machine."""


def test_a_program_runs_as_it_does_alone(tmp_path: Path) -> None:
    text = 'import os, sys, torch\nprint(os.getcwd(), sys.argv, sys.path)\nprint("e", file=sys.stderr)\nsys.exit(3)\n'
    project = create_project(tmp_path, {"a.py": text})
    environment = build_environment(project)
    alone = subprocess.run(
        [sys.executable, "a.py", "-x"], cwd=project, env=environment, capture_output=True, text=True
    )
    done = record(project, "--", sys.executable, "a.py", "-x")
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout) != (0, "")
    assert done.stderr.splitlines()[0] == "e"
    assert (project / ".torchmigrate" / ".gitignore").read_text().endswith("*\n")


def test_warnings_are_shown_where_they_were(tmp_path: Path) -> None:
    project = create_project(tmp_path, {"a.py": PLAIN})
    environment = build_environment(project)
    alone = subprocess.run(
        [sys.executable, "a.py"], cwd=project, env=environment, capture_output=True, text=True
    )
    done = record(project, sys.executable, "a.py")
    shown = alone.stderr.splitlines()
    assert shown == done.stderr.splitlines()[: len(shown)] != []
    assert count_warnings(project) == {("a.py", 3): 3}


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(
            "import os\nif os.fork():\n    os.wait()\nelse:\n    torch.old()\n    os._exit(0)\n", id="fork"
        ),
        pytest.param(
            "import multiprocessing as m\nfrom b import f\nif __name__ == '__main__':\n    c = m.get_context('spawn')\n"
            "    p = c.Process(target=f)\n    p.start()\n    p.join()\n",
            id="spawn",
        ),
        pytest.param("import subprocess, sys\nsubprocess.run([sys.executable, 'b.py'])\n", id="subprocess"),
    ],
)
def test_children_are_recorded(tmp_path: Path, start: str) -> None:
    project = create_project(
        tmp_path,
        {"a.py": f"import torch\ntorch.old()\n{start}", "b.py": f"{PLAIN}def f():\n    torch.old()\n"},
    )
    assert record(project, sys.executable, "a.py").returncode == 0
    assert len({fact["kind"] for fact in read_facts(project)}) > 1
    found = count_warnings(project)
    assert found.pop(("a.py", 2)) >= 1
    if "fork" in start:
        assert found == {("a.py", 7): 1}
    if "spawn" in start:
        assert found == {("b.py", 3): 6, ("b.py", 5): 1}
    if "b.py" in start:
        assert found == {("b.py", 3): 3}


def test_torch_may_come_late_or_in_a_thread(tmp_path: Path) -> None:
    late = "import threading\ndef f():\n    import torch\n    torch.old()\nt = threading.Thread(target=f)\nt.start()\nt.join()\n"
    project = create_project(tmp_path, {"a.py": late})
    assert record(project, sys.executable, "a.py").returncode == 0
    assert count_warnings(project) == {("a.py", 4): 1}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_program_loses_nothing(tmp_path: Path, number: int) -> None:
    text = PLAIN + f"import os\nos.kill(os.getpid(), {int(number)})\n"
    project = create_project(tmp_path, {"a.py": text})
    assert record(project, sys.executable, "a.py").returncode == -number
    assert count_warnings(project) == {("a.py", 3): 3}


def test_signals_are_handed_on(tmp_path: Path) -> None:
    text = "import signal, sys, time, torch\nsignal.signal(signal.SIGTERM, lambda *a: sys.exit(7))\nopen('ready', 'w')\ntime.sleep(60)\n"
    project = create_project(tmp_path, {"a.py": text})
    process = subprocess.Popen(
        [sys.executable, "-m", "torchmigrate", "record", sys.executable, "a.py"],
        cwd=project,
        env=build_environment(project),
        stderr=subprocess.DEVNULL,
    )
    for _ in range(600):
        if (project / "ready").exists():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 7


def test_the_own_sitecustomize_runs_after_it(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import sys\nsys.own = __name__\n")
    project = create_project(
        tmp_path, {"a.py": f"import sys\nprint(sys.own, sys.modules['sitecustomize'].__file__)\n{PLAIN}"}
    )
    done = record(project, sys.executable, "a.py", PYTHONPATH=str(own))
    assert done.stdout.split() == ["sitecustomize", str(own / "sitecustomize.py")]
    assert count_warnings(project) == {("a.py", 5): 3}


def test_an_error_in_the_own_sitecustomize_is_shown_as_ever(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("1 / 0\n")
    project = create_project(tmp_path, {"a.py": PLAIN})
    done = record(project, sys.executable, "a.py", PYTHONPATH=str(own))
    assert "Error in sitecustomize" in done.stderr
    assert count_warnings(project) == {("a.py", 3): 3}


def test_a_process_without_torch_is_not_touched(tmp_path: Path) -> None:
    text = "import sys\nprint([name for name in sys.modules if '_torchmigrate_record' in name], 'typing' in sys.modules)\n"
    project = create_project(tmp_path, {"a.py": text})
    done = record(project, sys.executable, "-S", "-c", "pass")
    assert "nothing was recorded" in done.stderr
    done = record(project, sys.executable, "a.py")
    assert done.stdout.startswith("[]")
    assert not (project / ".torchmigrate" / "record.jsonl").exists()


def test_pytest_with_xdist(tmp_path: Path) -> None:
    test = "import pytest, torch\n@pytest.mark.parametrize('n', range(4))\ndef test_it(n):\n    torch.old()\n"
    project = create_project(tmp_path, {"test_a.py": test})
    done = record(project, sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout
    assert count_warnings(project) == {("test_a.py", 4): 4}


def test_the_culprit_is_the_package_that_calls_torch(tmp_path: Path) -> None:
    project = create_project(tmp_path, {"a.py": "import other\nother.use()\n"})
    (tmp_path / "site-packages" / "other.py").write_text("import torch\ndef use():\n    torch.old()\n")
    assert record(project, sys.executable, "a.py").returncode == 0
    (fact,) = read_facts(project, "warning")
    assert (fact["package"], fact["at"]["line"]) == ("other", 2)


@pytest.mark.parametrize("interpreter", INTERPRETERS)
def test_other_pythons(tmp_path: Path, interpreter: str) -> None:
    project = create_project(tmp_path, {"a.py": PLAIN + "def never():\n    pass\n"})
    done = record(project, "--lines", interpreter, "a.py")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert count_warnings(project) == {("a.py", 3): 3}
    lines = {fact["at"]["line"] for fact in read_facts(project, "line")}
    assert 3 in lines
    assert 5 not in lines


def test_a_command_that_does_not_exist(tmp_path: Path) -> None:
    project = create_project(tmp_path, {})
    done = record(project, "no-such-command")
    assert done.returncode == 2
    assert done.stderr == "Error: cannot run no-such-command: No such file or directory\n"


def test_another_run_replaces_the_record_or_adds_to_it(tmp_path: Path) -> None:
    project = create_project(tmp_path, {"a.py": PLAIN, "b.py": PLAIN})
    record(project, sys.executable, "a.py")
    record(project, "--append", sys.executable, "b.py")
    record(project, "--append", sys.executable, "b.py")
    assert count_warnings(project) == {("a.py", 3): 3, ("b.py", 3): 6}
    record(project, sys.executable, "b.py")
    assert count_warnings(project) == {("b.py", 3): 3}
    record(project, "-o", "other.jsonl", sys.executable, "a.py")
    assert count_warnings(project) == {("b.py", 3): 3}
    done = run_tool(project, "record", "--merge", "--append", "other.jsonl")
    assert "joined 1 record" in done.stderr
    assert count_warnings(project) == {("a.py", 3): 3, ("b.py", 3): 3}
