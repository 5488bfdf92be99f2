"""Many archives: each with a place for its program, one after the other or several at a time."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace

from torchmigrate.artifacts import conversion, reading
from torchmigrate.artifacts.conversion import Outcome, Wanted

WAYS = ("converted", "refused", "differing", "skipped", "failed")

Told = Callable[[int, int], object]
"""Called with the number of files done, and of all."""


@dataclass(frozen=True, slots=True)
class Job:
    """One file, the place for what is made of it, and what is wanted of it."""

    path: str
    target: str
    wanted: Wanted


def jobs(source: str, target: str, wanted: Wanted, inputs_folder: str | None = None) -> list[Job]:
    """What to do with a file, or with the models in a folder, whose layout ``target`` gets.

    The inputs of ``a/model.pt`` are ``a/model.pt`` in ``inputs_folder``, or ``a/model.inputs.pt`` beside it.
    """
    if not os.path.isdir(source):
        return [Job(source, target, wanted)]
    # What an earlier run has made is no source, should it lie within.
    made = os.path.realpath(target)
    found: dict[str, Job] = {}
    for path in reading.find((source,)):
        if os.path.realpath(path).startswith(made + os.sep) and os.path.realpath(source) != made:
            continue
        if path.endswith(".inputs.pt"):
            continue
        inner = os.path.relpath(path, source)
        stem = os.path.splitext(os.path.join(target, inner))[0]
        place = f"{stem}.pt2"
        if place in found:  # model.pt and model.ptl
            place = f"{os.path.join(target, inner)}.pt2"
        found[place] = Job(path, place, _with_inputs(path, inner, wanted, inputs_folder))
    return list(found.values())


def _with_inputs(path: str, inner: str, wanted: Wanted, folder: str | None) -> Wanted:
    beside = f"{os.path.splitext(path)[0]}.inputs.pt"
    given = os.path.join(folder, f"{os.path.splitext(inner)[0]}.pt") if folder else ""
    file = next((one for one in (given, beside) if one and os.path.isfile(one)), None)
    return replace(wanted, files={**wanted.files, "": file}, specs={}) if file else wanted


def run(work: Sequence[Job], environ: Mapping[str, str], at_a_time: int, told: Told) -> list[Outcome]:
    """What came of each job, in their order."""
    outcomes: dict[int, Outcome] = {}
    with ThreadPoolExecutor(max_workers=at_a_time) as pool:
        futures = {pool.submit(_one, job, environ): index for index, job in enumerate(work)}
        try:
            for done in as_completed(futures):
                outcomes[futures[done]] = done.result()
                told(len(outcomes), len(work))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [outcomes[index] for index in range(len(work))]


def _one(job: Job, environ: Mapping[str, str]) -> Outcome:
    return conversion.convert(job.path, job.target, job.wanted, environ)


def counted(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, int]]:
    """How many files ended in which way; those that did not occur are left out."""
    found = Counter(one.way for one in outcomes)
    yield from ((way, found[way]) for way in WAYS if found[way])
