"""`--ray`: conversions on the nodes of a running Ray cluster, as many at a time as it has room for.

The nodes need torch and no torchmigrate: what takes an archive apart and converts it imports the standard library only, and
travels as a zip file, as the archives and the programs do. Each node uses the interpreter of its Ray worker.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torchmigrate.artifacts import conversion, reading
from torchmigrate.artifacts.batch import Job, Told
from torchmigrate.artifacts.conversion import Outcome, Row
from torchmigrate.probe.ray import RayError, reach, zipped

SHIPPED = (
    "__init__ advice binary conversion executorch exported inputs model names onnx pickles reading records saved "
    "tensors torchscript snippets/__init__ snippets/convert"
)


def run(work: Sequence[Job], address: str, told: Told) -> list[Outcome]:
    """What came of each job, in their order. Raises `RayError`."""
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise RayError("ray is not installed; install torchmigrate[ray]") from None
    started = not ray.is_initialized()
    outcomes: dict[int, Outcome] = {}
    try:
        if started:
            reach(address)
            ray.init(address=address, log_to_driver=False, logging_level="error")
        task, package = ray.remote(num_cpus=1, max_retries=1)(convert_on_node), ray.put(shipped())
        running: dict[Any, int] = {}
        waiting = list(enumerate(work))
        # Of the archives themselves only those lie in the cluster's memory that are being worked on.
        most = max(int(ray.cluster_resources().get("CPU", 1)), 1)
        while waiting or running:
            while waiting and len(running) < most:
                index, job = waiting.pop(0)
                if found := conversion.unfit(reading.read(job.path)):
                    outcomes[index] = found
                    continue
                try:
                    running[task.remote(package, *_parts(job))] = index
                except OSError as error:
                    outcomes[index] = Outcome(job.path, error=error.strerror or str(error))
            if not running:
                continue
            (done, *_), _ = ray.wait(list(running), num_returns=1)
            index = running.pop(done)
            try:
                outcomes[index] = _placed(work[index], *ray.get(done))
            except (ray.exceptions.RayError, OSError) as error:
                outcomes[index] = Outcome(work[index].path, error=_said(error))
            told(len(outcomes), len(work))
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise RayError(f"the Ray cluster at {address} did not answer: {_said(error)}") from None
    finally:
        if started:
            ray.shutdown()
    return [outcomes[index] for index in range(len(work))]


def convert_on_node(
    package: bytes, name: str, archive: bytes, target: str, wanted: dict[str, Any], files: dict[str, bytes]
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """What came of one archive, and the files that were made of it; runs on a node, where it comes by value."""
    import dataclasses
    import os
    import sys
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        tool = os.path.join(folder, "torchmigrate.zip")
        source = os.path.join(folder, "in", name)
        place = os.path.join(folder, "out", target)
        for path, data in ((tool, package), (source, archive)):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(data)
        for method, data in files.items():
            files_of = os.path.join(folder, f"inputs-{method}.pt")
            with open(files_of, "wb") as file:
                file.write(data)
            wanted["files"][method] = files_of
        for module in [module for module in sys.modules if module.partition(".")[0] == "torchmigrate"]:
            del sys.modules[module]
        sys.path.insert(0, tool)
        try:
            from torchmigrate.artifacts import conversion
            from torchmigrate.artifacts.inputs import Dynamic

            wanted["dynamic"] = tuple(Dynamic(*one) for one in wanted["dynamic"])
            wanted["python"] = sys.executable
            outcome = conversion.convert(source, place, conversion.Wanted(**wanted), dict(os.environ))
            made = {}
            for row in outcome.rows:
                if row.file:
                    with open(row.file, "rb") as result:
                        made[os.path.basename(row.file)] = result.read()
            return dataclasses.asdict(outcome), made
        finally:
            sys.path.remove(tool)


def shipped() -> bytes:
    """The package as a zip file, as far as it takes to convert an archive."""
    return zipped([*(f"artifacts/{name}.py" for name in SHIPPED.split()), "probe/ask.py"])


def _parts(job: Job) -> tuple[str, bytes, str, dict[str, Any], dict[str, bytes]]:
    """What a node is sent of a job. Raises `OSError`."""
    wanted = dataclasses.asdict(job.wanted)
    wanted["dynamic"] = [dataclasses.astuple(one) for one in job.wanted.dynamic]
    wanted["files"] = {}
    files = {method: Path(file).read_bytes() for method, file in job.wanted.files.items()}
    return (
        os.path.basename(job.path),
        Path(job.path).read_bytes(),
        os.path.basename(job.target),
        wanted,
        files,
    )


def _placed(job: Job, said: dict[str, Any], made: dict[str, bytes]) -> Outcome:
    """The outcome with the paths of this machine, where the files now are. Raises `OSError`."""
    place = Path(job.target)
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".torchmigrate-", dir=place.parent) as folder:
        for name, data in made.items():
            (Path(folder) / name).write_bytes(data)
        for name in made:
            os.replace(Path(folder) / name, place.parent / name)
    rows = []
    for row in said["rows"]:
        file = str(place.parent / os.path.basename(row["file"])) if row["file"] else None
        rows.append(Row(**{**row, "file": file}))
    return Outcome(**{**said, "path": job.path, "rows": tuple(rows)})


def _said(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
