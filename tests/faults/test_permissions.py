"""Without the permission a file stays as it was and is reported; the others are fixed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.support import CHECK, FIX, NEW, OLD, Outcome, contents, plant, run, without_privileges

JSON = ("--output-format", "json", ".")


def run_as_anybody(*arguments: str, folder: Path) -> Outcome:
    return run(*arguments, folder=folder, before=without_privileges)


def test_a_read_only_file(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": OLD, "b.py": OLD})
    (tmp_path / "a.py").chmod(0o444)
    done = run_as_anybody(*FIX, *JSON, folder=tmp_path)
    assert (done.status, done.errors) == (2, {"a.py": "cannot be written: it is read-only"})
    assert contents(tmp_path) == {"a.py": OLD, "b.py": NEW}


def test_a_file_that_only_root_may_write_by_its_mode_is_read_only_for_root_too(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": OLD})
    (tmp_path / "a.py").chmod(0o444)
    assert run(*FIX, *JSON, folder=tmp_path).status == 2
    assert contents(tmp_path) == {"a.py": OLD}


def test_a_read_only_folder(tmp_path: Path) -> None:
    plant(tmp_path, {"p/a.py": OLD, "b.py": OLD})
    (tmp_path / "p").chmod(0o555)
    try:
        done = run_as_anybody(*FIX, *JSON, folder=tmp_path)
    finally:
        (tmp_path / "p").chmod(0o755)
    assert (done.status, done.errors) == (2, {"p/a.py": "cannot be written: its folder is read-only"})
    assert contents(tmp_path) == {"p/a.py": OLD, "b.py": NEW}


@pytest.mark.parametrize("command", [CHECK, FIX])
def test_what_may_not_be_read(tmp_path: Path, command: tuple[str, ...]) -> None:
    plant(tmp_path, {"p/a.py": OLD, "q/b.py": OLD, "secret.py": OLD, "z.py": OLD})
    (tmp_path / "p").chmod(0)
    (tmp_path / "q").chmod(0o444)  # its names may be read, but nothing behind them
    (tmp_path / "secret.py").chmod(0)
    try:
        done = run_as_anybody(*command, *JSON, folder=tmp_path)
    finally:
        (tmp_path / "p").chmod(0o755)
        (tmp_path / "q").chmod(0o755)
    denied = "cannot be read: permission denied"
    assert {path: message.lower() for path, message in done.errors.items()} == {
        "p": denied,
        "q/b.py": denied,
        "secret.py": denied,
    }
    assert done.status == 2
    assert ((tmp_path / "z.py").read_bytes() == NEW) == (command is FIX)


@pytest.mark.parametrize("name", ["pyproject.toml", "torchmigrate.toml", ".gitignore", "requirements.txt"])
def test_settings_that_may_not_be_read(tmp_path: Path, name: str) -> None:
    plant(tmp_path, {name: b"torch\n", "z.py": OLD})
    (tmp_path / ".git").mkdir()
    (tmp_path / name).chmod(0)
    asked = ("--quiet", "--show", "info", "--output-format", "concise")
    done = run_as_anybody("check", *asked, ".", folder=tmp_path)
    if name.endswith(".toml"):
        path = tmp_path / name
        assert (done.status, done.text) == (2, f"Error: {path}: cannot be read: Permission denied\n")
    else:
        assert done.status == (2 if name.endswith(".txt") else 0)
        assert "z.py:3:" in done.text
    assert "Traceback" not in done.text


def test_a_leftover_of_somebody_else_is_in_the_way(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": OLD})

    def leave() -> None:
        from torchmigrate.run import write_file

        create = write_file.create_locked

        def created(path: Path) -> int:
            path.write_bytes(b"")
            path.chmod(0)
            return create(path)

        write_file.create_locked = created
        without_privileges()

    done = run(*FIX, *JSON, folder=tmp_path, before=leave)
    assert done.status == 2
    assert "cannot be removed: Permission denied" in done.errors["a.py"]
    assert (tmp_path / "a.py").read_bytes() == OLD
