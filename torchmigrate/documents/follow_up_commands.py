"""The commands that follow a move, in the words of the tools that a project uses."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator

from torchmigrate.prefilter.project_file_kinds import kind_of
from torchmigrate.project.project_facts import Project

_LOCKS = {
    "uv.lock": ("uv lock", "uv lock --upgrade-package torch"),
    "poetry.lock": ("poetry lock", "poetry update torch"),
    "pdm.lock": ("pdm lock", "pdm update torch"),
    "Pipfile.lock": ("pipenv lock", "pipenv upgrade torch"),
    "pixi.lock": ("pixi update", "pixi update pytorch"),
}
"""Lock file → the command that writes it again after a move, and the one that only locks the newest torch which is admitted.

Sources: https://docs.astral.sh/uv/concepts/projects/sync/, https://python-poetry.org/docs/cli/#update,
https://pdm-project.org/latest/reference/cli/#update, https://github.com/pypa/pipenv/pull/5617 and
https://pixi.prefix.dev/latest/reference/cli/pixi/update.
"""


def explain_lock(path: str) -> str:
    """Return why a lock file is not edited, with the command that updates it."""
    _, command = _LOCKS.get(os.path.basename(path), ("", ""))
    update = f"run `{command}`" if command else "run it again"
    return f"a lock file is written by its tool: {update} once the project's own files admit the target"


def list_commands(paths: Iterable[str], project: Project) -> Iterator[str]:
    """Yield the commands to type after some files of a project have changed."""
    for path in paths:
        yield from _list_commands_for(path, project)


def _list_commands_for(path: str, project: Project) -> Iterator[str]:
    folder, name = os.path.split(path)
    shown = shlex.quote(project.get_display_path(path))
    inside = shlex.quote(os.path.dirname(project.get_display_path(path)) or ".")
    kind = kind_of(path)
    locks = [command for lock, (command, _) in _LOCKS.items() if os.path.exists(os.path.join(folder, lock))]
    if kind == "toml" or name == "Pipfile":
        yield from (command if inside == "." else f"cd {inside} && {command}" for command in locks)
        if not locks:
            yield f"pip install -e {inside}"
    elif kind == "requirements":
        compiled = path.removesuffix(".in") + ".txt"
        if path.endswith(".in") and os.path.exists(compiled):
            yield f"pip-compile {shown}"
        else:
            yield f"pip install -r {shown}"
    elif kind == "docker":
        yield f"docker build -f {shown} {inside}"
    elif kind == "yaml" and re.search(r"compose", name):
        yield f"docker compose -f {shown} build"
    elif kind == "yaml" and _is_conda_file(path, project):
        yield f"conda env update -f {shown} --prune"
    elif name in ("setup.py", "setup.cfg"):
        yield f"pip install -e {inside}"


def _is_conda_file(path: str, project: Project) -> bool:
    """Return whether a YAML file describes a conda environment."""
    data = project.read_bytes(path) or b""
    return re.search(rb"(?m)^dependencies:", data) is not None
