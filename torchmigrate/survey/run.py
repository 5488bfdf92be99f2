"""A survey from its list of repositories to what is kept about each: which are looked at again, and who does the work."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from torchmigrate import __version__
from torchmigrate.run.fingerprint import compute_fingerprint
from torchmigrate.survey.inspection import Limits, inspect_repository
from torchmigrate.survey.repositories import Repository
from torchmigrate.survey.store import Store

Answers = Iterator[tuple[Repository, dict[str, Any]]]
"""Repositories with the answers of `inspect_repository`, in any order."""


@dataclass(frozen=True, slots=True)
class SurveyRequest:
    """What to find out about each repository."""

    arguments: tuple[str, ...]
    """The options of `plan` and `fix` that all repositories get: versions and rules."""
    fix: bool
    unsafe: bool
    limits: Limits

    @property
    def digest(self) -> str:
        """The digest of what the answers depend on besides the repositories."""
        facts = [__version__, compute_fingerprint().hex(), list(self.arguments), self.fix, self.unsafe]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


@dataclass(slots=True)
class RunTotals:
    """What a run did."""

    looked_at: int = 0
    unchanged: int = 0
    failed: int = 0
    cpu_seconds: float = 0.0


def create_job(repository: Repository, request: SurveyRequest, known: str) -> dict[str, Any]:
    """Return the job for a repository whose state ``known`` has been looked at; "" if none has."""
    return {
        "folder": repository.folder,
        "url": repository.url,
        "ref": repository.ref,
        "transport": repository.transport,
        "archive": "",
        "state": "",
        "is_git": bool(repository.url),
        "known": known,
        "arguments": request.arguments,
        "fix": request.fix,
        "unsafe": request.unsafe,
    }


def run_survey(
    repositories: Sequence[Repository],
    request: SurveyRequest,
    store: Store,
    answer: Callable[[Iterator[tuple[Repository, dict[str, Any]]]], Answers],
    progress: Callable[[int, int], object],
) -> RunTotals:
    """Look at the repositories, and keep what is new as it comes. ``answer`` does the jobs in any order.

    An error is kept, and tried again by the next run. Raises `Failure` if the results cannot be written.
    """
    digest, totals = request.digest, RunTotals()
    store.write_names([one.name for one in repositories])

    def create_jobs() -> Iterator[tuple[Repository, dict[str, Any]]]:
        for one in repositories:
            kept = store.load(one.name)
            valid = kept is not None and (kept.settings, kept.location) == (digest, one.location)
            yield one, create_job(one, request, kept.state if kept and valid else "")

    for number, (repository, found) in enumerate(answer(create_jobs()), 1):
        totals.cpu_seconds += found.get("cpu_seconds", 0.0)
        if found.get("unchanged"):
            totals.unchanged += 1
        else:
            totals.looked_at += 1
            totals.failed += bool(found.get("error"))
            store.save(repository, digest, found)
        progress(number, len(repositories))
    return totals


def answer_in_processes(
    jobs: Iterator[tuple[Repository, dict[str, Any]]], limits: Limits, at_a_time: int
) -> Answers:
    """Do the jobs in processes of this machine, ``at_a_time`` of them; a job is taken when there is room for it."""
    running: dict[Future[dict[str, Any]], Repository] = {}
    with ThreadPoolExecutor(at_a_time) as pool:
        for repository, job in jobs:
            running[pool.submit(inspect_repository, job, limits)] = repository
            if len(running) >= at_a_time:
                yield from _take_finished(running)
        while running:
            yield from _take_finished(running)


def _take_finished(running: dict[Future[dict[str, Any]], Repository]) -> Answers:
    for future in wait(running, return_when=FIRST_COMPLETED).done:
        yield running.pop(future), future.result()
