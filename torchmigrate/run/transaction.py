"""Replacing several files: all of them or none, even if the run is killed in between.

Before the first file is replaced, a journal beside them records their new contents. It is removed when all are replaced.
A run that is killed in between leaves it, unlocked, and the next run reports it or completes the work.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torchmigrate.project import file_search
from torchmigrate.run.journals import journal_path
from torchmigrate.run.write_file import (
    FileChanged,
    claim_leftover,
    create_locked,
    defer_interrupts,
    prepare_replacement,
    write_atomic,
)

Replacement = tuple[str, bytes, bytes]
"""A path, the new content and the present content, as `write_atomic` takes them."""


class NotWritten(Exception):
    """Raised when one of several files, the one at ``path``, could not be replaced, and so none is; ``error`` is the cause."""

    def __init__(self, path: str, error: OSError | FileChanged, stays: Sequence[str]) -> None:
        super().__init__(path)
        self.path = path
        self.error = error
        self.stays = stays
        """Paths that stay replaced because undoing it failed; the journal stays, too."""


def write_together(replacements: Sequence[Replacement], folder: str | os.PathLike[str]) -> list[list[str]]:
    """Replace several files in ``folder`` as `write_atomic` replaces one: all of them or none.

    Nothing is replaced before all new contents are on the disk. If a replacement fails nevertheless, earlier ones are undone.
    Raises NotWritten.
    """
    done: list[list[str]] = []
    with defer_interrupts(), contextlib.ExitStack() as journal, contextlib.ExitStack() as stack:
        path = ""
        try:
            replaces = []
            for path, data, expected in replacements:
                replaces.append(stack.enter_context(prepare_replacement(path, data, expected)))
            if len(replacements) > 1:
                journal.enter_context(_write_journal(replacements, Path(os.path.realpath(folder))))
            for (path, *_), replace in zip(replacements, replaces, strict=True):  # noqa: B007
                done.append(replace())
        except BaseException as error:
            stays = [one[0] for one in reversed(replacements[: len(done)]) if not _undo_replacement(*one)]
            if isinstance(error, (OSError, FileChanged)):
                raise NotWritten(path, error, stays) from error
            raise
    return done


def _undo_replacement(path: str, data: bytes, expected: bytes) -> bool:
    try:
        write_atomic(path, expected, data)
    except (OSError, FileChanged):
        return False
    return True


@contextlib.contextmanager
def _write_journal(replacements: Sequence[Replacement], folder: Path) -> Iterator[None]:
    """Keep a journal of the replacements in ``folder`` during the context."""
    entries = [
        {
            "path": os.path.relpath(os.path.realpath(path), folder),
            "before": _hash_content(before),
            "after": base64.b64encode(after).decode(),
        }
        for path, after, before in replacements
    ]
    journal = journal_path(entries[0]["path"], folder)
    try:
        handle = create_locked(journal)
    except OSError as error:
        reason = error.strerror or error
        raise OSError(f"the journal of the changes cannot be written in {folder}: {reason}") from None
    is_over = True
    with os.fdopen(handle, "wb") as file:
        try:
            file.write(json.dumps(entries).encode())
            file.flush()
            os.fsync(file.fileno())
            yield
        except NotWritten as failed:
            is_over = not failed.stays
            raise
        finally:
            if is_over and sys.platform != "win32":  # which removes no file that is open
                os.unlink(journal)
    if is_over and sys.platform == "win32":
        os.unlink(journal)


@dataclass
class UnfinishedRun:
    """The work that a killed run has left."""

    journal: Path
    replaced: list[str] = field(default_factory=list)
    """Paths that it has replaced."""
    left: list[Replacement] = field(default_factory=list)
    """Replacements that it has not made."""
    changed: list[str] = field(default_factory=list)
    """Paths whose content is neither the old nor the new one."""

    @property
    def is_partial(self) -> bool:
        """Whether some files are replaced, and not all."""
        return bool(self.replaced and (self.left or self.changed))

    def add_file(self, path: str, before: str, after: bytes) -> None:
        """Classify a file of the journal by its present content; ``before`` is the digest of its old one."""
        try:
            now = file_search.read_file(path)
        except OSError:
            self.changed.append(path)
            return
        if now == after:
            self.replaced.append(path)
        elif _hash_content(now) == before:
            self.left.append((path, after, now))
        else:
            self.changed.append(path)

    def complete(self) -> None:
        """Replace the remaining files, unless some have changed, and remove the journal.

        Raises FileChanged and OSError.
        """
        with claim_leftover(self.journal), defer_interrupts():
            for replacement in self.left if self.is_partial and not self.changed else ():
                write_atomic(*replacement)
            os.unlink(self.journal)


def read_journal(journal: Path, places: Collection[str]) -> UnfinishedRun | None:
    """Return the work left by the killed run with this journal; None if the run is still active or the journal is unreadable.

    ``places`` are the real paths of the files that may be changed. A journal that names another file is not followed: it may
    have come with the project, to write where no fix would.
    """
    try:
        with claim_leftover(journal):
            data = file_search.read_file(journal)
    except (OSError, FileChanged):
        return None
    found = UnfinishedRun(journal)
    root = os.path.realpath(journal.parent)
    try:
        for entry in json.loads(data):
            path = os.path.realpath(os.path.join(root, entry["path"]))
            if path not in places:
                return None
            found.add_file(path, entry["before"], base64.b64decode(entry["after"], validate=True))
    except (ValueError, TypeError, LookupError, RecursionError):  # killed before it was complete, or not ours
        return UnfinishedRun(journal)
    return found


def _hash_content(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
