"""What has the name of a module and is no file never blocks a run; it is reported, and the rest is checked."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from tests.faults.support import FIX, NEW, OLD, plant, run


@pytest.mark.parametrize("named", [False, True])
def test_pipes_sockets_and_devices_are_reported(tmp_path: Path, named: bool) -> None:
    plant(tmp_path, {"z.py": OLD})
    os.mkfifo(tmp_path / "pipe.py")
    os.mkfifo(tmp_path / "requirements.txt")
    os.mkfifo(tmp_path / "pipe.ipynb")
    (tmp_path / "zero.py").symlink_to("/dev/zero")
    (tmp_path / "terminal.py").symlink_to("/dev/tty")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "socket.py"))
        paths = sorted(os.listdir(tmp_path)) if named else ["."]
        done = run(*FIX, "--output-format", "json", *paths, folder=tmp_path)
    assert done.errors == {
        "pipe.py": "this is a named pipe, not a regular file",
        "pipe.ipynb": "this is a named pipe, not a regular file",
        "requirements.txt": "this is a named pipe, not a regular file",
        "zero.py": "this is a device, not a regular file",
        "terminal.py": "this is a device, not a regular file",
        "socket.py": "this is a socket, not a regular file",
    }
    assert done.status == 2
    assert (tmp_path / "z.py").read_bytes() == NEW


@pytest.mark.parametrize(
    "name", ["pyproject.toml", "torchmigrate.toml", ".gitignore", "setup.cfg", "setup.py"]
)
def test_a_pipe_in_the_place_of_a_settings_file_does_not_block(tmp_path: Path, name: str) -> None:
    plant(tmp_path, {"z.py": OLD})
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / name)
    done = run("fix", "--apply", "--unsafe", "--output-format", "json", ".", folder=tmp_path)
    assert done.errors.keys() <= {name}
    assert (tmp_path / "z.py").read_bytes() == NEW


def test_a_file_that_becomes_a_pipe_does_not_block(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": OLD, "z.py": OLD})

    def replaced() -> None:
        from torchmigrate.project import file_search

        found = file_search.find_files

        def find(*arguments: object, **named: object) -> file_search.FoundFiles:
            result = found(*arguments, **named)  # type: ignore[arg-type]
            os.unlink("a.py")
            os.mkfifo("a.py")
            return result

        file_search.find_files = find

    done = run(*FIX, "--output-format", "json", ".", folder=tmp_path, before=replaced)
    assert done.errors == {"a.py": "cannot be read: it is not a regular file"}
    assert (tmp_path / "z.py").read_bytes() == NEW


def test_a_pipe_in_the_place_of_the_temporary_file_does_not_block(tmp_path: Path) -> None:
    plant(tmp_path, {"z.py": OLD})

    def leave() -> None:
        from torchmigrate.run import write_file

        create = write_file.create_locked

        def created(path: Path) -> int:
            os.mkfifo(path)
            return create(path)

        write_file.create_locked = created

    assert run(*FIX, ".", folder=tmp_path, before=leave).status == 0
    assert (tmp_path / "z.py").read_bytes() == NEW
    assert os.listdir(tmp_path) == ["z.py"]


def test_a_link_in_the_place_of_the_temporary_file_is_not_written_through(tmp_path: Path) -> None:
    plant(tmp_path, {"tree/z.py": OLD, "precious.txt": b"precious"})

    def leave() -> None:
        from torchmigrate.run import write_file

        create = write_file.create_locked

        def created(path: Path) -> int:
            path.symlink_to(tmp_path / "precious.txt")
            return create(path)

        write_file.create_locked = created

    done = run(*FIX, "--output-format", "json", ".", folder=tmp_path / "tree", before=leave)
    assert done.status == 2
    assert "cannot be removed" in done.errors["z.py"]
    assert (tmp_path / "precious.txt").read_bytes() == b"precious"
    assert (tmp_path / "tree" / "z.py").read_bytes() == OLD
