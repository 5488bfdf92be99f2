"""The scripts that need the argument ``--local-rank``, which torch's old launcher passes and `torchrun` does not."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from torchmigrate.api import NoFix
from torchmigrate.project.import_closure import find_imported_files
from torchmigrate.project.module_paths import get_module_path

if TYPE_CHECKING:
    from torchmigrate.project.project_facts import Project

_LINE_BREAK = re.compile(r"\\\r?\n|\r?\n[ \t]*-[ \t]+")
"""The break in a command of several lines: in a shell, and as a list in YAML."""
_SCRIPT = re.compile(
    r"[^;&|\n]*?(?:(?<![\w.-])(?:-m|--module)[ \t]+(?P<module>[\w.]+)|(?P<file>[\w./-]+)\.py\b)"
)
"""The module or file that the launcher starts, behind its options; in a path with variables, the part behind the last one."""
_DECLARES_ARGUMENT = re.compile(rb"[\"']--local[_-]rank\b")
_READS_ARGUMENT = re.compile(rb"\.local_rank\b(?!\s*=[^=])")
_READS_VARIABLE = re.compile(rb"\bLOCAL_RANK\b|\bget_node_local_rank\b")
_SETS_FROM_VARIABLE = re.compile(rb"\.local_rank\s*=[^=\n][^\n]*\bLOCAL_RANK\b")


def explain_risk(command: str, project: Project, path: str) -> str:
    """Return why a move to `torchrun` is unsafe for the script that ``command``, in the file at ``path``, starts.

    ``command`` is the text behind the launcher's name. Raises NoFix if the script knows its rank only by ``--local-rank``.
    """
    name = _parse_script(command)
    scripts = _find_files(name, project, path) if name else []
    for script in scripts:
        if _needs_local_rank(script, project):
            raise NoFix(
                f"`{os.path.basename(script)}` needs `--local-rank`, which `torchrun` does not pass; change the script to read `LOCAL_RANK` first"
            )
    doubt = "" if scripts else ", which was not found in the project,"
    return f"the script{doubt} no longer receives `--local-rank` and has to read `LOCAL_RANK`"


def _parse_script(command: str) -> list[str]:
    """Return the parts of the name of the module, or of the path of the file, that a command starts; [] if it is unclear."""
    found = _SCRIPT.match(_LINE_BREAK.sub(" ", command))
    if found is None:
        return []
    if found["module"]:
        return found["module"].split(".")
    return [part for part in found["file"].split("/") if part not in ("", ".", "..")]


def _find_files(name: list[str], project: Project, path: str) -> list[str]:
    """Return the files of the project that a name may mean: the one beside or above the command, else all that match."""
    every = [one for one in project.find_modules(name) if one.endswith(".py")]
    folder = os.path.dirname(os.path.abspath(path))
    while folder != os.path.dirname(folder):
        beside = [one for one in every if get_module_path(one) == os.path.join(folder, *name)]
        if beside:
            return beside
        folder = os.path.dirname(folder)
    return every


def _needs_local_rank(script: str, project: Project) -> bool:
    """Return whether a script, or a module that it imports, reads the argument and does not know `LOCAL_RANK`."""
    text = project.read_bytes(script) or b""
    texts = [text, *(project.read_bytes(one) or b"" for one in find_imported_files(project, script, text))]
    taking = [one for one in texts if _DECLARES_ARGUMENT.search(one)]
    knows = any(map(_READS_VARIABLE.search, [text, *taking])) or any(map(_SETS_FROM_VARIABLE.search, texts))
    return bool(taking) and not knows and any(map(_READS_ARGUMENT.search, texts))
