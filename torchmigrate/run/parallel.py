"""Checking many files in this process, or in several processes where that is faster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from torchmigrate.project.file_search import InputFile
from torchmigrate.project.project_facts import Project
from torchmigrate.run.cache import Cache
from torchmigrate.run.engines import Engines
from torchmigrate.run.file_checker import FileCheck, FileChecker
from torchmigrate.run.profiles import Profile
from torchmigrate.run.wire import pack, unpack

WORTHWHILE = 400
"""The number of files from which on starting processes saves time; of files that rules read, an eighth of it."""

_PRIOR = 8
"""The weight of the initial estimate of the share of files that rules read, as a number of files."""

_DIED = "the process that checked this file died; the file was not checked"

WorkItem = tuple[str, str, bytes | None]
"""What is sent to a worker process: the file's real path, and the fields of an `InputFile`."""

WorkResult = tuple[bytes | None, bytes | None, bool, bool]
"""What a worker process sends back: the fields of a `FileCheck`, with a packed scan."""


def check_files(looker: FileChecker, files: Mapping[str, InputFile]) -> Iterator[tuple[str, FileCheck]]:
    """Yield the path and the result of each of the ``files``, checked with the facts about the project.

    Once enough work is left, processes share it, and the results come in no particular order.
    """
    hits = _PRIOR if looker.project.is_complete else 0
    places = list(files)
    for done, place in enumerate(places):
        share = hits / (done + _PRIOR)
        if looker.engines.jobs != 1 and (len(places) - done) * (1 + 7 * share) >= WORTHWHILE:
            yield from _check_in_processes(looker, {place: files[place] for place in places[done:]})
            return
        before = looker.scanned
        yield place, looker.check_file(place, files[place])
        hits += looker.scanned - before


def _check_in_processes(
    looker: FileChecker, files: Mapping[str, InputFile]
) -> Iterator[tuple[str, FileCheck]]:
    from torchmigrate.run import workers

    looker.engines.get_engine(next(iter(files)))  # what it imports, processes that are forked need not
    looker.cache.close_connection()  # a connection must not live on in two processes
    count = workers.count_processes(looker.engines.jobs)
    make = partial(
        create_worker,
        looker.engines.profiles,
        looker.project,
        looker.cache.folder,
        looker.awaited,
        looker.foresees,
        looker.corrects,
    )
    items = [(place, file.path, file.data) for place, file in files.items()]
    for (place, *_), sent in workers.map_all(make, items, count):
        yield (
            place,
            FileCheck.from_failure(files[place], _DIED)
            if isinstance(sent, workers.Died)
            else unpack_check(*sent),
        )


def create_worker(
    profiles: Mapping[str, Profile],
    project: Project,
    folder: str | None,
    awaited: bool = False,
    foresees: bool = False,
    corrects: bool = False,
) -> Callable[[WorkItem], WorkResult]:
    """Return the work of a worker process, which uses the project and the cache in a folder."""
    cache = Cache(folder)
    looker = FileChecker(Engines(profiles), project, cache)
    looker.awaited, looker.foresees, looker.corrects = awaited, foresees, corrects
    looker.garbage.__enter__()

    def look(item: WorkItem) -> WorkResult:
        place, shown, data = item
        scan, key, failed, waits = looker.check_file(place, InputFile(shown, data))
        return None if scan is None else pack(scan), key, failed, waits

    return look


def unpack_check(scan: bytes | None, key: bytes | None, failed: bool, waits: bool) -> FileCheck:
    """Return the result that a worker process has sent."""
    from torchmigrate.engine.engine import FileScan

    return FileCheck(None if scan is None else unpack(FileScan, scan), key, failed, waits)
