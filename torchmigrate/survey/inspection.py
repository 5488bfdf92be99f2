"""The work on one repository, in a process of its own with limits on time and memory.

The process copies or clones the repository, and calls the commands `plan` and `fix` on the copy. What a survey says about a
repository is therefore what these commands say.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchmigrate import __version__
from torchmigrate.probe.processes import ask_snippet
from torchmigrate.project.folders import is_repository
from torchmigrate.project.git import GitError
from torchmigrate.survey import snapshot
from torchmigrate.survey.snapshot import SnapshotError

_SCRIPT = "import sys; from torchmigrate.survey.inspection import answer_job; answer_job(sys.argv[1])"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one repository may take."""

    seconds: float
    memory_bytes: int
    most_bytes: int
    """The size of its files together."""


_KEPT = (
    *("min_version", "min_version_source", "target_version", "files", "suppressed", "errors"),
    *("findings", "efforts", "steps", "releases"),
)
"""The fields of a plan's JSON that a survey keeps."""


def inspect_repository(job: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Do a job in a new process, and return its answer: ``unchanged``, ``error`` or ``result``, and what it took.

    A process that hangs, crashes or is killed is an answer with an ``error``, too.
    """
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TORCHMIGRATE_")}
    # The checked project is not on the path: the process starts in an empty folder.
    environ = {**environ, **snapshot.IDENTITY, "PYTHONPATH": os.pathsep.join(filter(os.path.isabs, sys.path))}
    given = json.dumps({**job, "memory_bytes": limits.memory_bytes, "most_bytes": limits.most_bytes})
    answer = ask_snippet(sys.executable, _SCRIPT, limits.seconds, environ, given)
    if answer.outcome == "ok":
        return answer.data
    if answer.outcome == "hung":
        return {"error": f"it takes more than {limits.seconds:g} seconds; --timeout sets the limit"}
    if answer.outcome == "killed":
        return {"error": f"its process was ended by {answer.detail}; --memory sets the limit"}
    return {"error": answer.detail or "its process ended without an answer"}


def answer_job(file: str) -> None:
    """Do the job in the JSON ``file``, and replace the file by the answer; this is what the process runs."""
    job = json.loads(Path(file).read_text("utf-8"))
    _limit_process(job["memory_bytes"], job["most_bytes"])
    with tempfile.TemporaryDirectory(prefix="torchmigrate-", ignore_cleanup_errors=True) as folder:
        try:
            answer = _work_on(job, folder)
        except (SnapshotError, GitError) as error:
            answer = {"error": str(error)}
        except MemoryError:
            answer = {
                "error": f"it takes more than {job['memory_bytes'] / (1 << 30):g} GiB; --memory sets the limit"
            }
        except OSError as error:
            answer = {"error": f"it cannot be read: {error.strerror or error}"}
    # Git's share is in the times of the children.
    answer["cpu_seconds"] = sum(os.times()[:4])
    answer["version"] = __version__
    Path(file).write_text(json.dumps(answer), "utf-8")


def _limit_process(memory_bytes: int, most_bytes: int) -> None:
    """Limit the memory of this process and of those that it starts, and the size of what they write, where the system can."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes, memory_bytes))
        # One file may be the pack of all others, or the copy of all of them.
        resource.setrlimit(resource.RLIMIT_FSIZE, (2 * most_bytes, 2 * most_bytes))


def _work_on(job: dict[str, Any], folder: str) -> dict[str, Any]:
    """Do a job in an empty folder. Raises GitError, SnapshotError, OSError."""
    archive, copy = os.path.join(folder, "files.zip"), os.path.join(folder, "repository")
    os.mkdir(copy)
    source, state, commit = job["folder"], job["state"], ""
    if job["url"]:
        source = os.path.join(folder, "clone")
        os.mkdir(source)
        address = (job["url"], job["ref"], job["transport"], source)
        if job["known"] and snapshot.find_commit(*address) == job["known"]:
            return {"unchanged": True}
        state = commit = snapshot.clone_repository(*address, job["most_bytes"])
    if job["archive"]:
        archive = job["archive"]
    else:
        digest = snapshot.pack_files(source, archive, job["most_bytes"])
        state = state or digest
    if state == job["known"]:
        return {"unchanged": True}
    snapshot.unpack_files(archive, copy)
    is_git = job["is_git"] or bool(source and is_repository(source))
    base = snapshot.commit_copy(copy, is_git=is_git)
    os.chdir(copy)
    try:
        found = _describe_repository(job, copy)
        patch, problem = _fix_copy(job, copy, base) if job["fix"] else (b"", "")
    finally:
        os.chdir(folder)
    result = {"commit": commit, **found, "patch_error": problem, "commits": snapshot.count_commits(patch)}
    return {"state": state, "result": result, "patch": base64.b85encode(patch).decode()}


def _describe_repository(job: dict[str, Any], copy: str) -> dict[str, Any]:
    """Return the plan of the repository in the current folder, and what its metadata says. Raises SnapshotError."""
    from torchmigrate.project.code_owners import CodeOwners
    from torchmigrate.survey.packages import read_packages

    options = ("--quiet", "--no-cache", "--jobs", "1", "--output-format", "json")
    _run_command("plan", *options, "-o", "../plan.json", *job["arguments"], ".")
    plan = json.loads(Path("../plan.json").read_text("utf-8"))
    # What says when and of what copy the plan was made is left out: it differs between equal repositories.
    plan = {name: plan[name] for name in _KEPT}
    owners = CodeOwners(copy).find_owners(os.path.join(copy, "pyproject.toml"))
    return {"owners": list(owners), **read_packages(copy, snapshot.list_files(copy)), "plan": plan}


def _fix_copy(job: dict[str, Any], copy: str, base: str) -> tuple[bytes, str]:
    """Fix the copy, and return the patch, and why there is none."""
    options = ("--quiet", "--no-cache", "--jobs", "1", "--apply", "--commit-per-rule", "--exit-zero")
    try:
        _run_command("fix", *options, *(("--unsafe",) if job["unsafe"] else ()), *job["arguments"], ".")
        return snapshot.create_patch(copy, base), ""
    except (SnapshotError, GitError) as error:
        return b"", str(error)


def _run_command(*arguments: str) -> None:
    """Run a command of torchmigrate on the current folder, in this process. Raises SnapshotError with what it says."""
    import click

    from torchmigrate.cli.commands import cli
    from torchmigrate.settings.config import ConfigError

    with _silence():
        try:
            cli.main(list(arguments), prog_name="torchmigrate", standalone_mode=False)
        except click.ClickException as error:
            raise SnapshotError(error.format_message()) from None
        except ConfigError as error:
            raise SnapshotError(str(error)) from None


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    text = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
        yield
