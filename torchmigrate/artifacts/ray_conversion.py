"""`--ray`: conversions on the nodes of a running Ray cluster, as many at a time as it has room for.

The nodes need torch and no torchmigrate: what takes an archive apart and converts it imports the standard library only, and
travels as a zip file, as the archives and the programs do. Each node uses the interpreter of its Ray worker.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torchmigrate.artifacts import conversion, reader
from torchmigrate.artifacts.conversion import ConversionOutcome, MethodOutcome
from torchmigrate.artifacts.conversion_jobs import ConversionJob, ShowProgress
from torchmigrate.artifacts.input_specs import OpenSize
from torchmigrate.probe.ray_cluster import connect_to_ray, create_remote_call, first_error_line, zip_packages


def run_on_cluster(
    work: Sequence[ConversionJob], address: str, progress: ShowProgress
) -> list[ConversionOutcome]:
    """Convert each job's file on a cluster, and return the outcomes in the order of the jobs. Raises `RayError`."""
    outcomes: dict[int, ConversionOutcome] = {}
    with connect_to_ray(address) as ray:
        task = create_remote_call(ray, num_cpus=1, max_retries=1)
        package = ray.put(zip_packages("artifacts", "probe"))
        function = (convert_on_node.__module__, convert_on_node.__name__)
        running: dict[Any, int] = {}
        waiting = list(enumerate(work))
        # Only the archives that are being converted lie in the cluster's memory.
        most = max(int(ray.cluster_resources().get("CPU", 1)), 1)
        while waiting or running:
            while waiting and len(running) < most:
                index, job = waiting.pop(0)
                if found := conversion.find_obstacle(reader.read_artifact(job.path)):
                    outcomes[index] = found
                    continue
                try:
                    running[task.remote(package, *function, *_pack_job(job))] = index
                except OSError as error:
                    outcomes[index] = ConversionOutcome(job.path, error=error.strerror or str(error))
            if not running:
                continue
            (done, *_), _ = ray.wait(list(running), num_returns=1)
            index = running.pop(done)
            try:
                outcomes[index] = _place_result(work[index], *ray.get(done))
            except (ray.exceptions.RayError, OSError) as error:
                outcomes[index] = ConversionOutcome(work[index].path, error=first_error_line(error))
            progress(len(outcomes), len(work))
    return [outcomes[index] for index in range(len(work))]


def convert_on_node(
    name: str, archive: bytes, target: str, wanted: dict[str, Any], files: dict[str, bytes]
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Convert one archive on this node, and return the outcome's fields and the new files by their names."""
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        source = folder / "in" / name
        source.parent.mkdir()
        source.write_bytes(archive)
        for method, data in files.items():
            inputs = folder / f"inputs-{method}.pt"
            inputs.write_bytes(data)
            wanted["files"][method] = str(inputs)
        wanted["dynamic"] = tuple(OpenSize(*one) for one in wanted["dynamic"])
        wanted["python"] = sys.executable
        place = str(folder / "out" / target)
        outcome = conversion.convert_archive(
            str(source), place, conversion.ConversionOptions(**wanted), os.environ
        )
        programs = [Path(row.file) for row in outcome.rows if row.file]
        return dataclasses.asdict(outcome), {program.name: program.read_bytes() for program in programs}


def _pack_job(job: ConversionJob) -> tuple[str, bytes, str, dict[str, Any], dict[str, bytes]]:
    """Return the arguments of `convert_on_node` for a job. Raises `OSError`."""
    wanted = dataclasses.asdict(job.wanted)
    wanted["dynamic"] = [dataclasses.astuple(one) for one in job.wanted.dynamic]
    wanted["files"] = {}
    files = {method: Path(file).read_bytes() for method, file in job.wanted.files.items()}
    path, target = Path(job.path), Path(job.target)
    return path.name, path.read_bytes(), target.name, wanted, files


def _place_result(job: ConversionJob, outcome: dict[str, Any], made: dict[str, bytes]) -> ConversionOutcome:
    """Write the new files on this machine, and return the outcome with their paths here. Raises `OSError`."""
    place = Path(job.target)
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".torchmigrate-", dir=place.parent) as folder:
        for name, data in made.items():
            (Path(folder) / name).write_bytes(data)
        for name in made:
            os.replace(Path(folder) / name, place.parent / name)
    rows = [MethodOutcome(**row) for row in outcome["rows"]]
    rows = [dataclasses.replace(r, file=str(place.parent / Path(r.file).name)) if r.file else r for r in rows]
    return ConversionOutcome(**{**outcome, "path": job.path, "rows": tuple(rows)})
