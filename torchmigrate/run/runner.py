"""Checking and fixing the files of a tree, with results in the order in which the files were given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from torchmigrate.run.cache import Cache
from torchmigrate.run.engines import Engines
from torchmigrate.run.snapshot import Snapshot, Stamps
from torchmigrate.run.tree import Tree
from torchmigrate.run.wire import PackedResults

if TYPE_CHECKING:
    from torchmigrate.model.findings import FileResult, Finding
    from torchmigrate.run.facts_store import KnownFacts
    from torchmigrate.run.multi_file import FixResult
    from torchmigrate.run.scanner import Progress

MAX_PASSES = 10
"""The number of passes over a project after which fixing stops even if it still changes files."""

_FEW = 100
"""The number of files up to which all are read before any is checked: most runs are hooks over a few files."""


def check_tree(
    tree: Tree, *, cache: Cache | None = None, progress: Progress | None = None
) -> Iterator[FileResult]:
    """Yield the findings of each named file, in order; files without findings and errors may be left out."""
    cache = cache or Cache(None)
    engines, stamps = Engines.from_tree(tree), Stamps(tree.files.values())
    snapshot = Snapshot(cache, engines.compute_context(tree), tree, stamps) if cache.is_enabled else None
    if snapshot is not None and (kept := snapshot.load_results()) is not None:
        yield from PackedResults(kept)
        return
    if len(tree.files) <= _FEW and not tree.record.base and not _may_find(tree, engines):
        from torchmigrate.model.findings import FileResult

        if snapshot is not None:
            snapshot.store_results([], {})
        yield from (FileResult(path) for path in dict.fromkeys(file.path for file in tree.named))
        return
    from torchmigrate.run.scanner import Scanner

    scanner = Scanner(tree, cache, engines=engines, stamps=stamps)
    scanner.scan(progress)
    if snapshot is not None and not scanner.failed:
        snapshot.store_results(scanner.results.packed, scanner.digest_searches())
    for place in scanner.named:
        yield scanner.get_result(place)


def _may_find(tree: Tree, engines: Engines) -> bool:
    """Return whether a file passes the prefilter, or cannot be read: otherwise the remaining modules need not be imported."""
    try:
        return any(
            engines.prefilter.passes_file(file.path, file.read_bytes()) for file in tree.files.values()
        )
    except OSError:
        return True


def fix_tree(
    tree: Tree,
    *,
    choose: Callable[[Finding], bool] | None = None,
    see: Callable[[bytes], None] | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
    known: KnownFacts | None = None,
    engines: Engines | None = None,
) -> Iterator[FixResult]:
    """Yield each named file after fixing, in order; nothing is written.

    ``choose`` is asked about every fix; before that, ``see`` gets the text that the fix's edits are for. ``known`` and ``engines``
    may be those of an earlier scan of the tree.

    Findings in one file depend on other files (for example on whether any of them still scripts), so the project is scanned
    and fixed again until nothing changes: a second run would find nothing to do.
    """
    from torchmigrate.run.fix_choice import FixChoice
    from torchmigrate.run.fixer import Fixer
    from torchmigrate.run.multi_file import fix_together
    from torchmigrate.run.scanner import Scanner

    choice = FixChoice(choose, see)
    results: dict[str, FixResult] = {}
    for _ in range(MAX_PASSES):
        scanner = Scanner(tree, cache, known, engines=engines)
        scanner.scan(progress)
        progress = None  # the passes to come are shorter, and not foreseen
        choice.begin_pass()
        fresh = fix_together(scanner.named, Fixer(scanner, choice).fix_file)
        results = {place: results[place].merge_later(one) if results else one for place, one in fresh.items()}
        changed = {place: fixed.after for place, fixed in fresh.items() if fixed.applied}
        if not changed:
            break
        known = scanner.known
        files = [replace(file, data=changed.get(file.place, file.data)) for file in tree.named]
        tree = replace(tree, named=files)
    yield from results.values()
