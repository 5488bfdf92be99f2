"""Work in processes of their own: every item has its result, whatever happens to the processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.support import settings_of
from torchmigrate.project.file_search import InputFile
from torchmigrate.project.project_facts import Project
from torchmigrate.run import parallel, runner, workers
from torchmigrate.run.file_checker import FileChecker
from torchmigrate.run.profiles import create_uniform_profile
from torchmigrate.run.tree import Tree


def _squarer(deadly: frozenset[int]) -> Callable[[int], int]:
    def square(number: int) -> int:
        if number in deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        return number * number

    return square


def squares(numbers: range, *deadly: int) -> dict[int, int | workers.Died]:
    return dict(workers.map_all(partial(_squarer, frozenset(deadly)), list(numbers), 2))


def test_every_item_has_its_result() -> None:
    assert squares(range(200)) == {number: number * number for number in range(200)}


@pytest.mark.parametrize("deadly", [(0,), (77,), (3, 4, 150)])
def test_a_process_that_dies_costs_only_the_item_it_died_of(deadly: tuple[int, ...]) -> None:
    found = squares(range(200), *deadly)
    assert {number for number, result in found.items() if isinstance(result, workers.Died)} == set(deadly)
    assert all(found[number] == number * number for number in range(200) if number not in deadly)


def test_a_fault_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        dict(workers.map_all(_divider, [1, 0], 1))


def _divider() -> Callable[[int], float]:
    return lambda number: 1 / number


@pytest.mark.usefixtures("collecting")
@pytest.mark.parametrize("folder", [None, "cache"])
def test_a_process_looks_into_no_file_without_a_mark(tmp_path: Path, folder: str | None) -> None:
    settings, minimum = settings_of([])
    profiles = {str(tmp_path): create_uniform_profile(settings, minimum)(str(tmp_path))}
    project = Project(["a.py"])
    project.is_complete = False
    look = parallel.create_worker(profiles, project, str(tmp_path / folder) if folder else None)
    assert look((str(tmp_path / "a.py"), "a.py", b"import torch\n")) == (None, None, False, False)


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_many_processes_say_what_one_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr(workers, "choose_start_method", lambda: method)
    (tmp_path / "compat.py").write_text("import torch\nscript = torch.jit.script\n")
    for number in range(parallel.WORTHWHILE):
        (tmp_path / f"m{number:03}.py").write_text(
            "import torch\nfrom compat import script\n"
            + ("x = torch.jit.annotate(int, 1)\n" if number % 3 else "x: torch.jit.Final = 1\n")
            + ("script(f)\n" if number % 5 == 0 else "")
        )
    inputs = [InputFile(str(path)) for path in sorted(tmp_path.iterdir())]
    one, two = (
        [
            (result.path, result.findings, result.errors)
            for result in runner.check_tree(Tree(inputs, create_uniform_profile(settings, minimum)))
        ]
        for settings, minimum in (settings_of(["--jobs", "1"]), settings_of(["--jobs", "2"]))
    )
    assert one == two
    assert sum(len(findings) for _, findings, _ in one) > parallel.WORTHWHILE


@pytest.mark.parametrize(
    ("text", "number", "starts"),
    [
        ("import torch\nx: torch.jit.Final = 1\n", parallel.WORTHWHILE // 4, True),
        ("import torch\nx: torch.jit.Final = 1\n", parallel.WORTHWHILE // 10, False),
        ("import torch\n", parallel.WORTHWHILE // 4, False),
        ("import torch\n", parallel.WORTHWHILE, True),
    ],
)
def test_processes_start_where_it_is_worthwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, number: int, starts: bool
) -> None:
    started: list[int] = []
    map_all = workers.map_all

    def recorded(make: Any, items: Any, count: int) -> Any:
        started.append(len(items))
        return map_all(make, items, count)

    monkeypatch.setattr(workers, "map_all", recorded)
    for index in range(number):
        (tmp_path / f"m{index:03}.py").write_text(text)
    inputs = [InputFile(str(path)) for path in sorted(tmp_path.iterdir())]
    settings, minimum = settings_of(["--jobs", "2"])
    results = list(runner.check_tree(Tree(inputs, create_uniform_profile(settings, minimum))))
    assert [result.path for result in results] == [file.path for file in inputs]
    assert bool(started) is starts


@pytest.mark.skipif(sys.platform != "linux", reason="the children must be forks")
def test_a_file_whose_process_dies_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(parallel.WORTHWHILE):
        (tmp_path / f"m{number:03}.py").write_text("import torch\nx: torch.jit.Final = 1\n")
    look = FileChecker.check_file

    def deadly(self: FileChecker, path: str, file: InputFile) -> object:
        if path.endswith("m123.py"):
            os.kill(os.getpid(), signal.SIGKILL)
        return look(self, path, file)

    monkeypatch.setattr(FileChecker, "check_file", deadly)
    monkeypatch.setattr(
        workers, "choose_start_method", lambda: "fork"
    )  # a child that starts anew has no such `look`
    settings, minimum = settings_of(["--jobs", "2"])
    inputs = [InputFile(str(path)) for path in sorted(tmp_path.iterdir())]
    results = list(runner.check_tree(Tree(inputs, create_uniform_profile(settings, minimum))))
    assert [os.path.basename(r.path) for r in results if r.errors] == ["m123.py"]
    assert sum(len(r.findings) for r in results) == parallel.WORTHWHILE - 1
