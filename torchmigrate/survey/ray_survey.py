"""`--ray`: the repositories of a survey on the nodes of a Ray cluster, one task each.

The nodes need this version of torchmigrate. Files of this machine travel to a node as a zip file; addresses are cloned there.
A task does what a process of this machine does, so the results are the same. When a node is lost, Ray does its tasks again
on another one.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torchmigrate import __version__
from torchmigrate.probe.ray_cluster import connect_to_ray, first_error_line
from torchmigrate.project.folders import is_repository
from torchmigrate.project.git import GitError
from torchmigrate.survey.inspection import Limits, inspect_repository
from torchmigrate.survey.repositories import Repository
from torchmigrate.survey.run import Answers
from torchmigrate.survey.snapshot import SnapshotError, pack_files

_RETRIES = 3
"""How often a task is done again after its node was lost."""

_AHEAD = 2
"""Tasks for each CPU of the cluster that exist at a time: those at work, and as many that wait for them."""


def answer_on_cluster(
    jobs: Iterator[tuple[Repository, dict[str, Any]]], limits: Limits, address: str
) -> Answers:
    """Do the jobs on the cluster at ``address``, and yield the answers as they come. Raises `RayError`.

    ``local`` starts a cluster on this machine for the time of the run. Only so many tasks exist at a time as the cluster works
    on, so the memory of this process does not depend on the number of repositories.
    """
    with connect_to_ray(address) as ray:
        task = ray.remote(num_cpus=1, max_retries=_RETRIES)(inspect_on_node)
        running: dict[Any, Repository] = {}
        for repository, job in jobs:
            try:
                archive = _pack_job(job, limits)
            except (OSError, GitError, SnapshotError) as error:
                yield repository, {"error": getattr(error, "strerror", None) or str(error)}
                continue
            if archive is None:
                yield repository, {"unchanged": True}
                continue
            running[task.remote(job, archive, limits, __version__)] = repository
            del archive
            # The cluster may have grown or lost a node since.
            while len(running) >= _AHEAD * max(int(ray.cluster_resources().get("CPU", 1)), 1):
                yield _take_finished(ray, running)
        while running:
            yield _take_finished(ray, running)


def _take_finished(ray: Any, running: dict[Any, Repository]) -> tuple[Repository, dict[str, Any]]:
    (done, *_), _ = ray.wait(list(running), num_returns=1)
    repository = running.pop(done)
    try:
        return repository, ray.get(done)
    except ray.exceptions.RayError as error:
        return repository, {"error": f"Ray gave up after {_RETRIES + 1} attempts: {first_error_line(error)}"}


def _pack_job(job: dict[str, Any], limits: Limits) -> bytes | None:
    """Return the files of a job's folder as a zip file, b"" for an address; None if they are what is known already.

    Raises GitError, SnapshotError, OSError.
    """
    if not job["folder"]:
        return b""
    with tempfile.TemporaryDirectory(prefix="torchmigrate-") as folder:
        archive = os.path.join(folder, "files.zip")
        job["state"] = pack_files(job["folder"], archive, limits.most_bytes)
        job["is_git"] = is_repository(job["folder"])
        return None if job["state"] == job["known"] else Path(archive).read_bytes()


def inspect_on_node(job: dict[str, Any], archive: bytes, limits: Limits, version: str) -> dict[str, Any]:
    """Do a job on a node, in a process of its own."""
    if version != __version__:
        return {
            "error": f"the node has torchmigrate {__version__}, and this machine {version}; install the same on both"
        }
    with tempfile.TemporaryDirectory(prefix="torchmigrate-") as folder:
        if archive:
            job = {**job, "archive": os.path.join(folder, "files.zip"), "folder": ""}
            Path(job["archive"]).write_bytes(archive)
        return inspect_repository(job, limits)
