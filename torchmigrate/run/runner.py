"""Checking and fixing the files of a tree, with results in the order in which the files were given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from torchmigrate.run.cache import Cache
from torchmigrate.run.engines import Engines
from torchmigrate.run.snapshot import Snapshot, Stamps
from torchmigrate.run.tree import Tree
from torchmigrate.run.wire import Results

if TYPE_CHECKING:
    from torchmigrate.model.findings import FileResult, Finding
    from torchmigrate.run.joint import FixResult
    from torchmigrate.run.known import Known
    from torchmigrate.run.scanner import Progress

MAX_PASSES = 10
"""The number of passes over a project after which fixing stops even if it still changes files."""

_FEW = 100
"""Files up to which all are read once before any is looked into: most runs are hooks over a few."""


def check(
    tree: Tree, *, cache: Cache | None = None, progress: Progress | None = None
) -> Iterator[FileResult]:
    """Yield the findings of each named file, in order; files without findings and errors may be left out."""
    cache = cache or Cache(None)
    engines, stamps = Engines.of_tree(tree), Stamps(tree.files.values())
    snapshot = None
    if cache.keeps:
        snapshot = Snapshot(cache, engines.context(is_whole=tree.is_whole), tree.named, stamps)
    kept = snapshot.load() if snapshot is not None else None
    if kept is not None:
        yield from kept
        return
    if len(tree.files) <= _FEW and not _may_find(tree, engines):
        from torchmigrate.model.findings import FileResult

        if snapshot is not None:
            snapshot.store(Results())
        yield from (FileResult(path) for path in dict.fromkeys(file.path for file in tree.named))
        return
    from torchmigrate.run.scanner import Scanner

    scanner = Scanner(tree, cache, engines=engines, stamps=stamps)
    scanner.scan(progress)
    if snapshot is not None and scanner.is_lasting:
        snapshot.store(scanner.results)
    for place in scanner.named:
        yield scanner.result(place)


def _may_find(tree: Tree, engines: Engines) -> bool:
    """Return whether a file passes the prefilter, or cannot be read: else there is nothing to import the rest for."""
    try:
        return any(engines.screen.concerns(file.path, file.read()) for file in tree.files.values())
    except OSError:
        return True


def fix(
    tree: Tree,
    *,
    choose: Callable[[Finding], bool] | None = None,
    see: Callable[[bytes], None] | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
    known: Known | None = None,
    engines: Engines | None = None,
) -> Iterator[FixResult]:
    """Yield each named file after fixing, in order; nothing is written.

    ``choose`` is asked about every fix; before that, ``see`` gets the text that the fix's edits are for. ``known`` and ``engines``
    may be those of an earlier scan of the tree.

    Findings in one file depend on other files (for example on whether any of them still scripts), so the project is scanned
    and fixed again until nothing changes: a second run would find nothing to do.

    """
    from torchmigrate.run.choice import Choice
    from torchmigrate.run.fixer import Fixer
    from torchmigrate.run.joint import together
    from torchmigrate.run.scanner import Scanner

    choice = Choice(choose, see)
    results: dict[str, FixResult] = {}
    for _ in range(MAX_PASSES):
        scanner = Scanner(tree, cache, known, engines=engines)
        scanner.scan(progress)
        progress = None  # the passes to come are shorter, and not foreseen
        choice.begin()
        fresh = together(scanner.named, Fixer(scanner, choice).fixed)
        results = {place: results[place].then(one) if results else one for place, one in fresh.items()}
        changed = {place: fixed.after for place, fixed in fresh.items() if fixed.applied}
        if not changed:
            break
        known = scanner.known
        files = [replace(file, data=changed.get(file.place, file.data)) for file in tree.named]
        tree = replace(tree, named=files)
    yield from results.values()
