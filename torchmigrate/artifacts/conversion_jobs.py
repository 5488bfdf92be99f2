"""Jobs that convert many archives, one after the other or several at a time."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace

from torchmigrate.artifacts import model_archives, reader
from torchmigrate.artifacts.conversion import ConversionOptions, ConversionOutcome

OUTCOME_WAYS = ("converted", "refused", "differing", "skipped", "failed")

ShowProgress = Callable[[int, int], object]
"""A function that shows the progress: it is called with the number of finished files, and of all."""


@dataclass(frozen=True, slots=True)
class ConversionJob:
    """One file to convert, the path of the result, and the options."""

    path: str
    target: str
    wanted: ConversionOptions


def create_jobs(
    source: str, target: str, wanted: ConversionOptions, inputs_folder: str | None = None
) -> list[ConversionJob]:
    """Return the job for a file, or a job for each model in a folder; ``target`` gets the layout of the folder.

    The inputs of ``a/model.ptl`` are ``a/model.ptl.pt`` or ``a/model.pt`` in ``inputs_folder``, or ``a/model.ptl.inputs.pt`` or
    ``a/model.inputs.pt`` beside it.
    """
    if not os.path.isdir(source):
        inner = os.path.basename(source)
        return [ConversionJob(source, target, _add_inputs(source, inner, wanted, inputs_folder))]
    # The results of an earlier run are no sources, even if they lie within the folder.
    results = os.path.realpath(target)
    found: dict[str, ConversionJob] = {}
    for path in reader.find_model_files((source,)):
        if os.path.realpath(path).startswith(results + os.sep) and os.path.realpath(source) != results:
            continue
        if path.endswith(".inputs.pt"):
            continue
        inner = os.path.relpath(path, source)
        place = f"{os.path.splitext(os.path.join(target, inner))[0]}.pt2"
        if place in found:  # model.pt and model.ptl
            place = f"{os.path.join(target, inner)}.pt2"
        found[place] = ConversionJob(path, place, _add_inputs(path, inner, wanted, inputs_folder))
    return list(found.values())


def _add_inputs(path: str, inner: str, wanted: ConversionOptions, folder: str | None) -> ConversionOptions:
    """Return the options with the inputs file of an archive, if there is one; ``inner`` is its path in the source."""
    # Inputs of the command line that are for all methods go before a file that happens to lie beside the archive.
    if not folder and {"", *wanted.methods} & {*wanted.files, *wanted.specs}:
        return wanted
    given = os.path.join(folder, inner) if folder else ""
    files = [f"{stem}.pt" for stem in (given, os.path.splitext(given)[0]) if folder]
    files += [f"{stem}.inputs.pt" for stem in (path, os.path.splitext(path)[0])]
    file = next((one for one in files if os.path.isfile(one) and not _is_same_file(one, path)), None)
    return replace(wanted, files={**wanted.files, "": file}, specs={}) if file else wanted


def _is_same_file(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def run_jobs(
    work: Sequence[ConversionJob], environ: Mapping[str, str], at_a_time: int, progress: ShowProgress
) -> list[ConversionOutcome]:
    """Convert each job's file, and return the outcomes in the order of the jobs."""
    outcomes: dict[int, ConversionOutcome] = {}
    with ThreadPoolExecutor(max_workers=at_a_time) as pool:
        futures = {
            pool.submit(model_archives.convert_file, job.path, job.target, job.wanted, environ): index
            for index, job in enumerate(work)
        }
        try:
            for done in as_completed(futures):
                outcomes[futures[done]] = done.result()
                progress(len(outcomes), len(work))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [outcomes[index] for index in range(len(work))]


def summarize_outcomes(outcomes: Sequence[ConversionOutcome]) -> str:
    """Return how many files ended in which way, in one line."""
    found = Counter(one.result_word for one in outcomes)
    losing = sum(one.is_good and any(row.losses for row in one.rows) for one in outcomes)
    ways = {way: f"{found[way]} {way}" for way in OUTCOME_WAYS if found[way]}
    if losing:
        ways["converted"] += f" ({losing} with losses)"
    return ", ".join(ways.values()) or "nothing to convert"
