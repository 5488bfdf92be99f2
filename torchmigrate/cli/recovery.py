"""Recovery of files that a killed run was replacing together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from torchmigrate.model.findings import FileError
from torchmigrate.run import transaction
from torchmigrate.run.tree import Tree
from torchmigrate.run.write_file import FileChanged


def recover_journal(
    journal: Path, tree: Tree, say: Callable[[str], None], *, apply: bool
) -> Iterator[FileError]:
    """Complete the work in a ``journal``, if ``apply``, and report it; yield errors for files that stay half-done."""
    places = {file.place for files in (tree.named, tree.others) for file in files}
    unfinished = transaction.read_journal(journal, places)
    if unfinished is None:
        return
    half = unfinished.is_partial
    done = f"a killed run changed {', '.join(map(_display_path, unfinished.replaced))}"
    left = [path for path, _, _ in unfinished.left] if half else []
    for path in unfinished.changed if half else ():
        yield FileError(
            _display_path(path),
            f"{done}, but not this file, which belongs to the same fix and has been edited since: compare the files",
        )
    if unfinished.changed or not apply:
        way = "compare the files" if unfinished.changed else "`torchmigrate fix --apply` completes the fix"
        for path in left:
            yield FileError(
                _display_path(path), f"{done}, but not this file, which belongs to the same fix: {way}"
            )
    if apply:
        try:
            unfinished.complete()
        except (OSError, FileChanged) as error:
            reason = getattr(error, "strerror", None) or error
            yield FileError(_display_path(str(journal)), f"cannot be completed: {reason}")
            return
        for path in left if not unfinished.changed else ():
            say(f"{_display_path(path)}: changed, to complete the fix of a killed run")


def _display_path(path: str) -> str:
    shown = os.path.relpath(path)
    return path if shown.startswith(os.pardir) else shown
