"""Whoever else works on the tree meanwhile: what they write is never lost, and what they remove is reported."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.support import CHECK, FIX, NEW, OLD, Program, contents, many, plant, run
from torchmigrate.project import file_search
from torchmigrate.run import parallel, transaction, write_file
from torchmigrate.run.scanner import Progress, Scanner

JSON = ("--output-format", "json", ".")


def after_finding(change: Callable[[], object]) -> Callable[[], None]:
    """Has ``change`` called when the files are found and none is read."""

    def start() -> None:
        find = file_search.find_files

        def found(*arguments: object, **named: object) -> file_search.FoundFiles:
            result = find(*arguments, **named)  # type: ignore[arg-type]
            change()
            return result

        file_search.find_files = found

    return start


def after_scanning(change: Callable[[], object]) -> Callable[[], None]:
    """Has ``change`` called when the files have been looked at and none is fixed."""

    def start() -> None:
        scan = Scanner.scan

        def scanned(self: Scanner, progress: Progress | None) -> None:
            scan(self, progress)
            Scanner.scan = scan  # type: ignore[method-assign]
            change()

        Scanner.scan = scanned  # type: ignore[method-assign]

    return start


def before_writing(change: Callable[[], object]) -> Callable[[], None]:
    """Has ``change`` called when all fixes are worked out and none is written."""

    def start() -> None:
        original = transaction.write_together

        def late(*arguments: object) -> object:
            transaction.write_together = original
            change()
            return original(*arguments)  # type: ignore[arg-type]

        transaction.write_together = late  # type: ignore[assignment]

    return start


def test_a_file_that_is_written_meanwhile_is_left_alone(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": OLD, "b.py": OLD})
    change = before_writing(lambda: Path("b.py").write_bytes(OLD + b"\n"))
    done = run(*FIX, *JSON, folder=tmp_path, before=change)
    assert (done.status, done.errors) == (
        2,
        {"b.py": "cannot be written: the file has changed since it was read"},
    )
    assert contents(tmp_path) == {"a.py": NEW, "b.py": OLD + b"\n"}


def test_a_file_that_is_written_between_the_look_and_the_fix_is_fixed_as_it_is_then(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": OLD, "b.py": OLD, "c.py": OLD})

    def change() -> None:
        Path("b.py").write_bytes(OLD + b"y = 1\n")
        Path("c.py").write_bytes(b"torch.jit.script(\n")

    done = run(*FIX, *JSON, folder=tmp_path, before=after_scanning(change))
    assert done.status == 2
    assert list(done.errors) == ["c.py"]
    assert "was never closed" in done.errors["c.py"]
    assert contents(tmp_path) == {"a.py": NEW, "b.py": NEW + b"y = 1\n", "c.py": b"torch.jit.script(\n"}


@pytest.mark.parametrize("moment", [after_finding, after_scanning, before_writing])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_folder_that_disappears(
    tmp_path: Path, moment: Callable[[Callable[[], object]], Callable[[], None]], jobs: str
) -> None:
    plant(tmp_path, {"a.py": OLD, "p/b.py": OLD, "p/q/c.py": OLD, "z.py": OLD})

    def start() -> None:
        parallel.WORTHWHILE = 2
        moment(lambda: shutil.rmtree("p"))()

    done = run(*FIX, "--jobs", jobs, *JSON, folder=tmp_path, before=start)
    assert (done.status, set(done.errors)) == (2, {"p/b.py", "p/q/c.py"})
    assert all("No such file or directory" in message for message in done.errors.values())
    assert contents(tmp_path) == {"a.py": NEW, "z.py": NEW}


def test_the_working_directory_that_disappears(tmp_path: Path) -> None:
    plant(tmp_path, {"p/a.py": OLD})
    done = run(*CHECK, ".", folder=tmp_path / "p", before=lambda: shutil.rmtree(tmp_path / "p"))
    assert done.status == 2
    assert done.text == "Error: the current folder no longer exists\n"


def test_a_second_run_in_the_midst_of_the_first(tmp_path: Path) -> None:
    plant(tmp_path, many(40))

    def second() -> None:
        assert run(*FIX, ".", folder=tmp_path).status == 0

    done = run(*FIX, *JSON, folder=tmp_path, before=before_writing(second))
    assert done.status == 2
    assert done.errors == dict.fromkeys(many(40), "cannot be written: the file has changed since it was read")
    assert set(contents(tmp_path)) == set(many(40))
    assert not any(b"annotate" in data for data in contents(tmp_path).values())


def test_two_runs_that_write_the_same_files_at_once(memory: Path) -> None:
    tree = plant(memory / "tree", many(100))
    assert run(*FIX, ".", folder=plant(memory / "alone", many(100))).status == 0
    gate, opening = os.pipe()
    ready, at_gate = os.pipe()

    def wait() -> None:
        os.close(opening)
        os.write(at_gate, b"x")
        os.read(gate, 1)

    programs = [Program(*FIX, *JSON, folder=tree, before=before_writing(wait)) for _ in range(2)]
    for _ in programs:
        os.read(ready, 1)
    os.close(opening)
    one, two = (program.wait() for program in programs)
    for handle in (gate, ready, at_gate):
        os.close(handle)
    assert contents(tree) == contents(memory / "alone")
    assert {*one.errors.values(), *two.errors.values()} <= {
        "cannot be written: the file has changed since it was read",
        "cannot be written: another run is writing this file",
    }
    fixed = one.document["summary"]["fixed"] + two.document["summary"]["fixed"]
    assert fixed + len(one.errors) + len(two.errors) == 200
    assert not one.errors.keys() & two.errors.keys()


def test_a_file_that_another_run_is_writing_is_left_to_it(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": OLD})

    def meanwhile() -> None:
        with write_file.create_temporary(tmp_path / "a.py") as (temporary, file):
            file.write(b"half of what another run wri")
            file.flush()
            done = run(*FIX, *JSON, folder=tmp_path)
            assert done.errors == {"a.py": "cannot be written: another run is writing this file"}
            assert temporary.read_bytes() == b"half of what another run wri"

    meanwhile()
    assert contents(tmp_path) == {"a.py": OLD}
