"""What the benchmarks measure with: processes, their memory, and the trees they look at. Nothing depends on times."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import memory, trees
from benchmarks.measure import Costs, environment, in_turns, run

ROOT = Path(__file__).parents[1]
MB = 10**6

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows the memory of other processes")


def test_the_runs_take_turns_and_what_runs_beforehand_is_not_timed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    shell = {name: ["sh", "-c", f"printf {name} >> {log}"] for name in "ab"}
    costs = in_turns(shell, 2, beforehand="b")
    assert log.read_text() == "babab"
    assert [len(cost.wall) for cost in costs.values()] == [len(cost.cpu) for cost in costs.values()] == [2, 2]


def test_a_command_that_fails_is_no_measurement() -> None:
    run([sys.executable, "-c", "raise SystemExit(1)"], Costs())
    with pytest.raises(RuntimeError, match=r"^exit status 2: .*: wrong usage$"):
        run([sys.executable, "-c", "import sys; print('wrong usage', file=sys.stderr); sys.exit(2)"], Costs())


def test_measured_processes_may_write_byte_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    assert environment() == {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    run(
        [sys.executable, "-c", "import os; raise SystemExit(2 * ('PYTHONDONTWRITEBYTECODE' in os.environ))"],
        Costs(),
    )


def measured_apart(command: list[str], options: str = "", prelude: str = "") -> Costs:
    """What a command costs by the account of a small process: this one may be larger than what it measures."""
    script = f"""
import sys
from benchmarks import measure, memory
{prelude}
costs = measure.Costs()
measure.run(sys.argv[1:], costs, {options})
print(costs)
"""
    # The kernel begins a process's peak with that of its parent, which may be a large test run: hence one in between.
    between = "import subprocess, sys; raise SystemExit(subprocess.run(sys.argv[1:]).returncode)"
    done = subprocess.run(
        [sys.executable, "-c", between, sys.executable, "-c", script, *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    costs = eval(done.stdout, {"Costs": Costs})
    assert isinstance(costs, Costs)
    return costs


def test_the_largest_process_counts_even_if_it_is_a_child() -> None:
    child = "b'x' * 100_000_000"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    largest = measured_apart([sys.executable, "-c", parent]).largest
    assert largest is not None
    assert 100 < largest < 200


def test_memory_is_unknown_below_that_of_the_measuring_process() -> None:
    costs = measured_apart(["true"])
    assert (costs.largest, costs.memory) == (None, None)


def test_what_is_sampled_counts_where_it_is_more() -> None:
    command = [sys.executable, "-c", "b'x' * 100_000_000"]
    prelude = "memory.of_tree = lambda pid: 1000.0"
    alone, all_together = (
        measured_apart(command, f"sampled={sampled}", prelude) for sampled in (False, True)
    )
    assert alone.memory == alone.largest
    assert all_together.memory == 1000


FORKING = """
import os, sys
data = bytearray(b"x" * 50_000_000)
if os.fork():
    print(flush=True)
elif sys.argv[1] == "touch":
    data[:] = bytes(len(data))
    print(flush=True)
else:
    print(flush=True)
sys.stdin.read()
"""


@linux
@pytest.mark.parametrize(("mode", "copies"), [("share", 1), ("touch", 2)])
def test_memory_in_common_counts_once(mode: str, copies: int) -> None:
    command = [sys.executable, "-c", FORKING, mode]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() + process.stdout.readline() == b"\n\n"  # both are there
        held = memory.of_tree(process.pid)
        process.stdin.close()
    assert 50 * copies < held < 50 * copies + 30


@linux
def test_the_sampler_looks_at_least_once_and_then_no_more() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        with memory.Sampler() as sampler:
            sampler.start(process.pid)
        assert process.stdin is not None
        process.stdin.close()
    assert sampler.peak > 0
    assert memory.of_tree(process.pid) == 0


def test_copies_have_names_of_their_own(tmp_path: Path) -> None:
    package = tmp_path / "wheel" / "timm"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import torch\n")
    (tmp_path / "wheel" / "six.py").write_text("")
    for suffix in ("", "_2", "_3"):
        trees.copy(tmp_path / "wheel", tmp_path / "copies", suffix)
    copies = tmp_path / "copies"
    names = sorted(path.relative_to(copies).as_posix() for path in copies.rglob("*.py"))
    packages = [f"{name}/__init__.py" for name in ("timm", "timm_2", "timm_3")]
    assert names == ["six.py", "six_2.py", "six_3.py", *packages]
    assert trees.size(copies) == (6, 3 * 13 / MB)


def test_a_copy_needs_no_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("not on this file system")

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "wheel").mkdir()
    (tmp_path / "wheel" / "six.py").write_text("import torch\n")
    trees.copy(tmp_path / "wheel", tmp_path / "copies")
    assert (tmp_path / "copies" / "six.py").read_text() == "import torch\n"
