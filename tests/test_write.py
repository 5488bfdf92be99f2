"""Replacing a file: all of it or nothing."""

from __future__ import annotations

import errno
import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from torchmigrate.run.attributes import ACL
from torchmigrate.run.write_file import FileChanged, write_atomic


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """A file with the content ``old``; nothing else may be in its folder afterwards."""
    path = tmp_path / "a.py"
    path.write_bytes(b"old")
    yield path
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.endswith(".tmp")] == []


def test_the_content_is_replaced(file: Path) -> None:
    write_atomic(file, b"new\r\n\0", b"old")
    assert file.read_bytes() == b"new\r\n\0"


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600, 0o664])
def test_the_mode_stays(file: Path, mode: int) -> None:
    file.chmod(mode)
    write_atomic(file, b"new", b"old")
    assert stat.S_IMODE(file.stat().st_mode) == mode


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_stays(file: Path) -> None:
    os.chown(file, 12345, 54321)
    write_atomic(file, b"new", b"old")
    assert (file.stat().st_uid, file.stat().st_gid) == (12345, 54321)


def test_a_symbolic_link_stays_and_its_target_changes(file: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "folder" / "link.py"
    link.symlink_to("../a.py")
    again = tmp_path / "again.py"
    again.symlink_to(link)
    write_atomic(again, b"new", b"old")
    assert again.is_symlink()
    assert link.is_symlink()
    assert not file.is_symlink()
    assert file.read_bytes() == b"new"
    assert list((tmp_path / "folder").iterdir()) == [link]


def test_of_a_hard_link_one_name_changes(file: Path, tmp_path: Path) -> None:
    os.link(file, tmp_path / "b.py")
    write_atomic(file, b"new", b"old")
    assert (tmp_path / "b.py").read_bytes() == b"old"


def test_what_somebody_else_wrote_stays(file: Path) -> None:
    with pytest.raises(FileChanged, match="has changed"):
        write_atomic(file, b"new", b"older")
    assert file.read_bytes() == b"old"


@pytest.mark.parametrize("failing", ["fsync", "chmod", "replace"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_content(
    file: Path, monkeypatch: pytest.MonkeyPatch, failing: str, error: BaseException
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(type(error)):
        write_atomic(file, b"new", b"old")
    assert file.read_bytes() == b"old"


def test_a_read_only_file_is_not_replaced(file: Path) -> None:
    file.chmod(0o444)
    with pytest.raises(PermissionError, match="read-only"):
        write_atomic(file, b"new", b"old")
    assert file.read_bytes() == b"old"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_said_to_be_one(file: Path) -> None:
    file.parent.chmod(0o555)
    try:
        with pytest.raises(PermissionError, match="folder is read-only"):
            write_atomic(file, b"new", b"old")
    finally:
        file.parent.chmod(0o755)


def test_only_files_that_exist_are_replaced(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomic(tmp_path / "none.py", b"new", b"")
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(OSError, match="not a regular file"):
        write_atomic(tmp_path / "folder.py", b"new", b"")
    (tmp_path / "loop.py").symlink_to("loop.py")
    with pytest.raises(OSError, match="loop"):
        write_atomic(tmp_path / "loop.py", b"new", b"")
    assert {entry.name for entry in tmp_path.iterdir()} == {"folder.py", "loop.py"}


def test_a_long_name_leaves_room_for_the_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / ("😀" * 62 + ".py")
    path.write_bytes(b"old")
    write_atomic(path, b"new", b"old")
    assert path.read_bytes() == b"new"


def an_acl(path: Path, user: int, mask: int) -> bytes:
    """An access control list that lets one more user read, as Linux stores it; skips where there is none."""
    entries = [(1, 6, -1), (2, 4, user), (4, 0, -1), (0x10, mask, -1), (0x20, 0, -1)]
    data = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    try:
        os.setxattr(path, ACL, data)
    except (OSError, AttributeError):
        pytest.skip("this file system has no access control lists")
    return os.getxattr(path, ACL)


def attributes(path: Path) -> dict[str, bytes]:
    return {name: os.getxattr(path, name) for name in os.listxattr(path)}


def test_the_access_control_list_and_the_attributes_stay(file: Path) -> None:
    an_acl(file, 12345, 4)
    os.setxattr(file, "user.note", b"mine\0")
    before, mode = attributes(file), file.stat().st_mode
    assert write_atomic(file, b"new", b"old") == []
    assert attributes(file) == before
    assert file.stat().st_mode == mode


def test_the_list_of_the_folder_opens_nothing(file: Path) -> None:
    file.chmod(0o640)
    data = an_acl(file, 12345, 7)
    os.removexattr(file, ACL)
    file.chmod(0o640)
    os.setxattr(file.parent, "system.posix_acl_default", data)
    assert write_atomic(file, b"new", b"old") == []
    assert ACL not in attributes(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.parametrize("mode", [0o640, 0o664, 0o4775, 0o600, 0o2755])
@pytest.mark.parametrize("refused", ["chown", "setxattr", "removexattr"])
@pytest.mark.parametrize("listed", [False, True])
def test_what_the_system_refuses_is_said_and_opens_nothing(
    file: Path, monkeypatch: pytest.MonkeyPatch, mode: int, refused: str, listed: bool
) -> None:
    if os.geteuid() == 0:
        os.chown(file, 12345, 54321)
    file.chmod(mode)
    if listed:
        an_acl(file, 1, 4)
    os.setxattr(file, "user.note", b"mine")
    allowed = stat.S_IMODE(file.stat().st_mode)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "no")

    monkeypatch.setattr(os, refused, refuse)
    lost = write_atomic(file, b"new", b"old")
    now = stat.S_IMODE(file.stat().st_mode)
    assert now & ~allowed == 0
    if refused == "setxattr":
        assert "its attribute user.note" in lost
        assert ("its access control list" in lost, listed and now & 0o070 != 0) == (listed, False)
    if refused == "chown" and os.geteuid() == 0:
        assert {"its owner", "its group"} <= set(lost)
        assert now & 0o6000 == 0
        assert now & 0o070 <= (mode & 0o007) << 3
