"""A copy of a repository's files, which is all that a survey works on: nothing in the repository itself is written or run.

The copy is a fresh git repository with one commit, so the configuration and the hooks of the original play no part in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import zipfile
from collections.abc import Iterator

from torchmigrate.project.file_search import read_file
from torchmigrate.project.folders import is_repository
from torchmigrate.project.git import Git, split_records

MOST_FILE_BYTES = 16 << 20
"""The size in bytes above which a file is left out: the tool reads no text that is larger."""

IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (
        ("NAME", "torchmigrate"),
        ("EMAIL", "torchmigrate@localhost"),
        ("DATE", "2000-01-01T00:00:00+0000"),
    )
}
"""The author of all commits of a survey, the same on every machine; whoever applies a patch commits it."""


class SnapshotError(Exception):
    """A repository cannot be copied; the message is for the user."""


def clone_repository(url: str, ref: str, transport: str, folder: str, most_bytes: int) -> str:
    """Clone the newest commit of a repository, without submodules, into an empty folder; return the commit's digest.

    Nothing of the repository runs. Raises GitError, and SnapshotError for files of more than ``most_bytes`` together.
    """
    git = Git(folder, transport=transport)
    git.run_command("init", "--quiet", "--template=", "--initial-branch=survey")
    options = ("--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
    git.run_command("fetch", *options, "--", url, f"+{ref or 'HEAD'}:refs/survey")
    listed = split_records(git.run_command("ls-tree", "-r", "-l", "-z", "refs/survey"))
    sizes = (entry.partition(b"\t")[0].split()[-1] for entry in listed)
    _limit_size(sum(int(size) for size in sizes if size.isdigit()), most_bytes)
    git.run_command("checkout", "--quiet", "--detach", "refs/survey")
    return git.resolve_commit("HEAD")


def find_commit(url: str, ref: str, transport: str, folder: str) -> str:
    """Return the commit that a repository has at ``ref``, asked for without cloning; "" if it does not say. Raises GitError."""
    printed = Git(folder, transport=transport).run_command("ls-remote", "--quiet", "--", url, ref or "HEAD")
    return printed.split(b"\t")[0].decode("ascii", "replace") if printed else ""


def list_files(folder: str) -> list[str]:
    """Return the paths of a repository's regular files, as posix paths below ``folder``, in a stable order.

    In git these are the tracked files and those that no pattern ignores; else all files, without caches. Raises GitError.
    """
    if is_repository(folder):
        shown = ("--cached", "--others", "--exclude-standard")
        paths = [
            os.fsdecode(path) for path in split_records(Git(folder).run_command("ls-files", "-z", *shown))
        ]
    else:
        paths = list(_walk_folder(folder, ""))
    return sorted(path for path in set(paths) if _is_copied(os.path.join(folder, path)))


def _walk_folder(folder: str, prefix: str) -> Iterator[str]:
    with contextlib.suppress(OSError), os.scandir(os.path.join(folder, prefix)) as entries:
        for entry in entries:
            path = prefix + entry.name
            if not entry.is_dir(follow_symlinks=False):
                yield path
            elif entry.name not in (".git", "__pycache__") and not is_environment(entry.path):
                yield from _walk_folder(folder, f"{path}/")


def is_environment(folder: str) -> bool:
    """Return whether a folder is a virtual environment."""
    return os.path.lexists(os.path.join(folder, "pyvenv.cfg"))


def _is_copied(path: str) -> bool:
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= MOST_FILE_BYTES


def pack_files(folder: str, target: str, most_bytes: int) -> str:
    """Write the files of a repository into the zip file ``target``; return the digest of their paths, modes and contents.

    Raises GitError, OSError, and SnapshotError for files of more than ``most_bytes`` together.
    """
    digest, total = hashlib.sha256(), 0
    with zipfile.ZipFile(target, "w") as archive:
        for path in list_files(folder):
            place = os.path.join(folder, path)
            try:
                name, data = os.fsencode(path).decode(), read_file(place)
            except (OSError, UnicodeDecodeError):
                continue
            total += len(data)
            _limit_size(total, most_bytes)
            runs = bool(os.stat(place).st_mode & 0o100)
            digest.update(f"{name}\0{runs}".encode() + hashlib.sha256(data).digest())
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o755 if runs else 0o644) << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 1)
    kind = b"git" if is_repository(folder) else b"folder"
    return hashlib.sha256(kind + digest.digest()).hexdigest()


def _limit_size(size: int, most_bytes: int) -> None:
    if size > most_bytes:
        raise SnapshotError(
            f"its files have more than {most_bytes >> 20:,} MiB together; --max-size sets the limit"
        )


def unpack_files(archive: str, folder: str) -> None:
    """Write the files of a zip file below ``folder``, with their modes. Raises OSError."""
    with zipfile.ZipFile(archive) as packed:
        for entry in packed.infolist():
            place = packed.extract(entry, folder)
            os.chmod(place, entry.external_attr >> 16)


def commit_copy(folder: str, *, is_git: bool) -> str:
    """Make a copy a git repository with one commit of all its files; return the commit's digest. Raises GitError.

    What is not ignored is tracked; of a repository, every file is, since nothing else was copied.
    """
    git = Git(folder)
    git.run_command("init", "--quiet", "--template=", "--initial-branch=survey")
    git.run_command("add", "--all", *(("--force",) if is_git else ()))
    tree = git.run_command("write-tree").decode().strip()
    commit = git.run_command("commit-tree", tree, "-m", "The repository as it was surveyed").decode().strip()
    git.run_command("update-ref", "HEAD", commit)
    return commit


def create_patch(folder: str, base: str) -> bytes:
    """Return the commits of a copy since ``base`` as `git format-patch` writes them, and leave the copy at ``base``.

    The patch has been applied with `git am`, and made the same files. Raises GitError, and SnapshotError if it does not.
    """
    git = Git(folder)
    fixed = git.resolve_commit("HEAD")
    if fixed == base:
        return b""
    forms = (
        "--stdout",
        "--no-signature",
        "--zero-commit",
        "--full-index",
        "--binary",
        "--no-renames",
        "--no-attach",
    )
    plain = (
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--src-prefix=a/",
        "--dst-prefix=b/",
        "--unified=3",
    )
    more = (
        "--no-signoff",
        "--no-thread",
        "--no-to",
        "--no-cc",
        "--no-cover-letter",
        "--no-notes",
        "--subject-prefix=PATCH",
    )
    patch = git.run_command("format-patch", *forms, *plain, *more, f"{base}..{fixed}")
    git.run_command("checkout", "--quiet", "--detach", base)
    git.run_command("am", "--quiet", "--keep-cr", "--no-gpg-sign", "--no-3way", given=patch)
    expected, made = (git.run_command("rev-parse", f"{name}^{{tree}}") for name in (fixed, "HEAD"))
    if expected != made:
        raise SnapshotError(
            "its patch was left out: `git am` makes other files of it than `torchmigrate fix`"
        )
    git.run_command("checkout", "--quiet", "--detach", base)
    return patch


def count_commits(patch: bytes) -> int:
    """Return the number of commits in a patch."""
    return patch.count(b"From " + b"0" * 40 + b" Mon Sep 17 00:00:00 2001\n")
