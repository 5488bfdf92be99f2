"""The kinds of project files, recognized by their names, and whether their content mentions torch."""

from __future__ import annotations

import codecs
import os
import re
from functools import cache

SUFFIXES = (".py", ".pyi", ".ipynb")
"""The suffixes of files that contain Python."""

MAX_METADATA_BYTES = 1 << 20
"""The most bytes of a project file that is read: no hand-written one is nearly as large."""

_NAMES = (
    (r"(?:.*[-_.])?(?:requirements|constraints?|reqs?)(?:[-_.].*)?\.(?:txt|in)|(?:requirements|constraints).*\.txt", "requirements"),
    (r"pyproject\.toml|pixi\.toml|uv\.toml|hatch\.toml|Pipfile", "toml"),
    (r"(?:uv|poetry|pdm|pixi)\.lock|pylock(?:\..+)?\.toml|Pipfile\.lock|(?:.*[-_.])?conda-lock\.ya?ml|conda-.*\.lock", "lock"),
    (r"setup\.cfg|tox\.ini", "ini"),
    (r".*\.ya?ml", "yaml"),
    (r".*\.(?:sh|bash|zsh|ksh|fish|bat|cmd|ps1|sbatch|slurm|pbs)|.*\.def|Jenkinsfile(?:\..*)?|[\w.-]*\.env(?:\.[\w-]+)?|\.deepspeed_env", "shell"),
    (r"CMakeLists\.txt|.*\.cmake", "cmake"),
    (r"(?:GNU)?[Mm]akefile(?:[-.].*)?|.*\.mk|[Jj]ustfile", "make"),
    (r".*\.(?:[mM][dD]|markdown)", "markdown"),
    (r".*\.(?:rst|RST)", "rst"),
    (r".*\.nix", "nix"),
    (r"(?:.*[-_.])?docker-bake(?:[-_.].*)?\.hcl", "hcl"),
    (r"\.?devcontainer\.json", "devcontainer"),
    (r"(?!.*\.(?:dockerignore|py|json|txt)$)(?:(?:.*[-_.])?(?:Dockerfile|Containerfile)(?:[-_.].*)?|.*\.dockerfile|dockerfile)", "docker"),
)  # fmt: skip
_SCRIPTS = ("setup.py", "noxfile.py")
_MODULES = ("python", "notebook")
"""The kinds whose files are Python modules too."""
_FOLDERS = ("requirements", "constraints")

_COMMANDS = re.compile(
    rb"[!%][^\n\"]{0,300}?\b(?:install|create|env)\b|%%(?:ba|script|sh|sx|system)"
    rb"|\"\s*(?:pip|conda|mamba|micromamba|uv)[ \t][^\n\"]{0,100}?\binstall\b"
)
"""Texts in the cells of a notebook that install something."""
_TOKENS = re.compile(rb"[Tt]orch|TORCH|nvidia/cuda|NCCL_(?:ASYNC|BLOCKING|DESYNC|ENABLE_TIMING)")


def kind_of(path: str) -> str | None:
    """Return the kind of project file that ``path`` names, or None.

    A ``.txt`` or ``.in`` file in a folder called ``requirements`` is a requirements file whatever its name.
    """
    name = os.path.basename(path)
    if name.endswith((".py", ".pyi")):
        return "python" if name in _SCRIPTS else None
    if name.endswith(".ipynb"):
        return "notebook"
    found = _compile_patterns().fullmatch(name)
    if found is not None:
        return found.lastgroup
    in_folder = name.endswith((".txt", ".in")) and os.path.basename(os.path.dirname(path)) in _FOLDERS
    return "requirements" if in_folder else None


def name_patterns() -> tuple[str, str]:
    """Return regular expressions for the names of project files, and for the folders in which any text file is one."""
    return "|".join(pattern for pattern, _ in _NAMES), "|".join(_FOLDERS)


@cache
def _compile_patterns() -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<{kind}>{pattern})" for pattern, kind in _NAMES))


def is_document(path: str) -> bool:
    """Return whether the file is a project file but no Python module (``setup.py`` and notebooks are both)."""
    return kind_of(path) not in (None, *_MODULES)


def may_concern_rules(kind: str, data: bytes) -> bool:
    """Return whether the content of a file of a kind can hold anything that a rule looks for."""
    if kind == "notebook" and not _COMMANDS.search(data):
        return False
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = data.replace(b"\0", b"")
    # A list without torch may pin what holds back the torch of the list beside it.
    return _TOKENS.search(data) is not None or (kind == "requirements" and b"==" in data)
