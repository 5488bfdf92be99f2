"""Checking many files in this process, or in several processes where that is faster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from torchmigrate.project.files import Input
from torchmigrate.project.project import Project
from torchmigrate.run.cache import Cache
from torchmigrate.run.engines import Engines
from torchmigrate.run.looker import Look, Looker
from torchmigrate.run.profiles import Profile
from torchmigrate.run.wire import pack, unpack

WORTHWHILE = 400
"""The number of files from which on starting processes saves time; of files that rules read, an eighth of it."""

_PRIOR = 8
"""The weight of the initial estimate of the share of files that rules read, as a number of files."""

_DIED = "the process that checked it died; the file is not checked"

Item = tuple[str, str, bytes | None]
"""What is sent to a worker process: the file's real path, and the fields of an `Input`."""

Sent = tuple[bytes | None, bytes | None, bool, bool]
"""What a worker process sends back: the fields of a `Look`, with a packed scan."""


def looks(looker: Looker, files: Mapping[str, Input]) -> Iterator[tuple[str, Look]]:
    """Yield the path and the result of each of the ``files``, checked with what is known of the project.

    Once enough work is left, processes share it, and the results come in no particular order.

    """
    hits = _PRIOR if looker.project.is_complete else 0
    places = list(files)
    for done, place in enumerate(places):
        share = hits / (done + _PRIOR)
        if looker.engines.jobs != 1 and (len(places) - done) * (1 + 7 * share) >= WORTHWHILE:
            yield from _shared(looker, {place: files[place] for place in places[done:]})
            return
        before = looker.scanned
        yield place, looker.look(place, files[place])
        hits += looker.scanned - before


def _shared(looker: Looker, files: Mapping[str, Input]) -> Iterator[tuple[str, Look]]:
    from torchmigrate.run import workers

    looker.engines.of(next(iter(files)))  # what it imports, processes that are forked need not
    looker.cache.release()  # a connection must not live on in two processes
    count = workers.processes(looker.engines.jobs)
    make = partial(work, looker.engines.profiles, looker.project, looker.cache.folder, looker.awaited)
    items = [(place, file.path, file.data) for place, file in files.items()]
    for (place, *_), sent in workers.map_all(make, items, count):
        yield (
            place,
            Look.failure(files[place], _DIED) if isinstance(sent, workers.Died) else received(*sent),
        )


def work(
    profiles: Mapping[str, Profile], project: Project, folder: str | None, awaited: bool = False
) -> Callable[[Item], Sent]:
    """Return the work of a worker process, which uses the project and the cache in a folder."""
    cache = Cache(folder)
    looker = Looker(Engines(profiles), project, cache)
    looker.awaited = awaited
    looker.garbage.__enter__()

    def look(item: Item) -> Sent:
        place, shown, data = item
        scan, key, failed, waits = looker.look(place, Input(shown, data))
        return None if scan is None else pack(scan), key, failed, waits

    return look


def received(scan: bytes | None, key: bytes | None, failed: bool, waits: bool) -> Look:
    """Return the result that a worker process has sent."""
    from torchmigrate.engine.engine import Scan

    return Look(None if scan is None else unpack(Scan, scan), key, failed, waits)
