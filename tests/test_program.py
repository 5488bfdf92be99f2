"""The program as a process: signals, pipes, what it imports, and the hooks that pre-commit installs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROGRAM = [sys.executable, "-m", "torchmigrate"]
MODULES = 90
"""The most modules besides Python's own that a cold check of a clean file may load; a dozen of them are click's."""
SLOW = ["rich", "libcst", "tree_sitter", "difflib", "packaging", "torch"]


def test_a_cold_check_of_a_clean_file_loads_few_modules(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n\nprint(torch.ones(2))\n")
    script = (
        "import sys; before = set(sys.modules); from torchmigrate.cli import commands\n"
        "sys.argv = ['torchmigrate', 'check', '--no-cache', 'a.py']\n"
        "try: commands.main()\n"
        "finally:\n"
        "    loaded = set(sys.modules) - before\n"
        "    own = [name for name in loaded if name.partition('.')[0] not in sys.stdlib_module_names]\n"
        "    print(len(own), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stderr.splitlines()[-1]) <= MODULES


def test_a_clean_file_needs_none_of_the_slow_modules(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import os\n")
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    script = (
        "import sys; from torchmigrate.cli import commands; sys.argv = ['torchmigrate', 'check', 'a.py']\n"
        "try: commands.main()\n"
        f"finally: print(*(name for name in {SLOW} if name in sys.modules), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == ""


def test_a_check_that_shows_no_edits_does_without_libcst(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n\ngrids = torch.meshgrid(torch.ones(2), torch.ones(2))\n")
    script = (
        "import sys; from torchmigrate.cli import commands\n"
        "sys.argv = ['torchmigrate', 'check', '--output-format', sys.argv[1], '--no-cache', 'a.py']\n"
        "try: commands.main()\n"
        "finally: print('libcst' in sys.modules, file=sys.stderr)"
    )
    for output_format, loads in ("concise", False), ("json", True):
        program = [sys.executable, "-c", script, output_format]
        done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True)
        assert "RM722" in done.stdout
        assert done.stderr.splitlines()[-1] == str(loads)


def test_a_closed_pipe_is_quiet(tmp_path: Path) -> None:
    for number in range(3_000):
        (tmp_path / f"{number:04}.py").symlink_to("nothing")
    process = subprocess.Popen(
        [*PROGRAM, "check", "--quiet"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith("0000.py: error: this is a broken link")
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait() == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="a device of Linux")
def test_a_full_disk_behind_standard_output_is_an_error(tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*PROGRAM, "check", "-q", "nowhere"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE
        )
    assert (done.returncode, done.stderr) == (
        2,
        b"Error: the output cannot be written: No space left on device\n",
    )


@pytest.mark.parametrize("command", [["check"], ["fix"], ["fix", "--apply", "--unsafe"]])
def test_an_interrupt_ends_with_130_and_leaves_no_file_half_written(
    tmp_path: Path, command: list[str]
) -> None:
    statuses = []
    for number in (200, 1_000, 5_000):  # a run may be over before this process gets to send the signal
        statuses.append(_interrupted(tmp_path / str(number), number, command))
        if statuses[-1] == 130:
            break
    assert statuses[-1] == 130
    assert set(statuses[:-1]) <= {0, 1}


def _interrupted(folder: Path, number: int, command: list[str]) -> int:
    """The status of a run over some files that is interrupted as soon as it is under way."""
    before = "import torch\n\nx = torch.jit.annotate(int, 1)\n" + "y = 1\n" * 300
    names = [f"{number:04}.py" for number in range(number)]
    folder.mkdir()
    for name in names:
        (folder / name).write_text(before)
    process = subprocess.Popen(
        [*PROGRAM, *command], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith("torchmigrate: torch 2.0")
    while process.poll() is None and "--apply" in command and (folder / names[0]).read_text() == before:
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    assert "Traceback" not in process.stderr.read()
    status = process.wait()
    assert sorted(os.listdir(folder)) == names
    contents = {(folder / name).read_text() for name in names}
    assert all(len(content) > 1_800 and content.endswith("y = 1\n") for content in contents)
    return status


def test_pre_commit_runs_both_hooks(tmp_path: Path) -> None:
    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    (tmp_path / "a.py").write_text(
        "import torch\n\nx = torch.jit.annotate(int, 1)\n\n\n@torch.jit.script\ndef f(y):\n    return y\n"
    )
    (tmp_path / "notes.txt").write_text("torch.jit.script\n")
    (tmp_path / "requirements.txt").write_text(
        "--index-url https://download.pytorch.org/whl/cu128\ntorch==2.15.0\n"
    )
    assert run("git", "init", "--quiet").returncode == 0
    assert run("git", "add", ".").returncode == 0
    done = run(sys.executable, "-m", "pre_commit", "try-repo", str(ROOT), "--all-files", "--verbose")
    assert done.returncode == 1, done.stdout + done.stderr
    check, fix = done.stdout.split("torchmigrate check", 1)[1].split("torchmigrate fix", 1)
    assert "exit code: 1" in check
    assert "a.py:6:" in check
    assert "requirements.txt:1:" in check
    assert "notes.txt" not in check
    assert "files were modified by this hook" in fix
    assert "x = torch.jit.annotate" not in (tmp_path / "a.py").read_text()
    assert "@torch.jit.script" in (tmp_path / "a.py").read_text()
