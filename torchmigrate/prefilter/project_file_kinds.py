"""The kinds of project files, recognized by their names, and whether their content mentions torch."""

from __future__ import annotations

import codecs
import os
import re
from functools import cache
from typing import NamedTuple

from torchmigrate.model.vocabulary import InstallRole

SUFFIXES = (".py", ".pyi", ".ipynb")
"""The suffixes of files that contain Python."""

MAX_METADATA_BYTES = 1 << 20
"""The most bytes of a project file that is read: no hand-written one is nearly as large."""


class FileKind(NamedTuple):
    """A kind of project file, and everything that depends on it alone."""

    name: str
    pattern: str
    """A regular expression for the whole name of such a file, in which ``.`` is any character except a slash."""
    globs: tuple[str, ...]
    """Globs of which one matches each such file, and perhaps others: an editor reports changes of these."""
    reader: str
    """The module of `torchmigrate.documents` and its function that reads such a file, ``module.function``."""
    role: InstallRole = InstallRole.INSTALL
    """The role of such a file, unless its folder makes it one for tests."""
    fixed: str = ""
    """The reason why nothing in such a file is edited; empty if it may be."""


_MAKEFILE = r"(?:GNU)?[Mm]akefile(?:[-.].*)?|.*\.mk|[Jj]ustfile"
_SHELL = r".*\.(?:sh|bash|zsh|ksh|fish|bat|cmd|ps1|sbatch|slurm|pbs)|.*\.def|[\w.-]*\.env(?:\.[\w-]+)?|\.deepspeed_env"
_DOCKER = r"(?!.*\.(?:dockerignore|py|json|txt)$)(?:(?:.*[-_.])?(?:Dockerfile|Containerfile)(?:[-_.].*)?|.*\.dockerfile|dockerfile)"
_REQUIREMENTS = r"(?:.*[-_.])?(?:requirements?|constraints?|reqs?)(?:[-_.].*)?\.(?:txt|in)|(?:requirements|constraints).*\.txt"
_LOCK = r"(?:uv|poetry|pdm|pixi)\.lock|pylock(?:\..+)?\.toml|Pipfile\.lock|(?:.*[-_.])?conda-lock\.ya?ml|conda-.*\.lock"
_SHELL_GLOB = "*.{sh,bash,zsh,ksh,fish,bat,cmd,ps1,sbatch,slurm,pbs,def}"

KINDS = (
    FileKind("python", r"setup\.py", ("*.py",), "setup_scripts.read_script"),
    FileKind("python", r"noxfile\.py", ("*.py",), "setup_scripts.read_script", InstallRole.TEST),
    FileKind("notebook", r".*\.ipynb", ("*.ipynb",), "notebook_commands.read_notebook"),
    FileKind("requirements", _REQUIREMENTS, ("*.{txt,in}",), "requirement_lists.read_list"),
    FileKind("toml", r"(?:pyproject|pixi|uv|hatch)\.toml|Pipfile", ("*.toml", "Pipfile"), "toml_files.read_toml"),
    FileKind("lock", _LOCK, ("*.{lock,toml,yml,yaml}",), "toml_files.read_lock", InstallRole.LOCK),
    FileKind("ini", r"setup\.cfg", ("*.cfg",), "ini_files.read_ini"),
    FileKind("ini", r"tox\.ini", ("*.ini",), "ini_files.read_ini", InstallRole.TEST),
    FileKind("yaml", r".*\.ya?ml", ("*.{yaml,yml}",), "yaml_files.read_yaml"),
    FileKind("shell", _SHELL, (_SHELL_GLOB, "*.env", "*.env.*", ".deepspeed_env"), "shell_commands.read_script"),
    FileKind("shell", r"Jenkinsfile(?:\..*)?", ("Jenkinsfile*",), "shell_commands.read_script", InstallRole.TEST),
    FileKind("cmake", r"CMakeLists\.txt|.*\.cmake", ("*.{txt,cmake}",), "variable_files.read_cmake"),
    FileKind("make", _MAKEFILE, ("*{Makefile,makefile}*", "*.mk", "{J,j}ustfile"), "shell_commands.read_makefile"),
    FileKind("markdown", r".*\.(?:[mM][dD]|markdown)", ("*.{md,MD,Md,mD,markdown}",), "markup_files.read_markdown", InstallRole.DOC),
    FileKind("rst", r".*\.(?:rst|RST)", ("*.{rst,RST}",), "markup_files.read_rst", InstallRole.DOC),
    FileKind("nix", r".*\.nix", ("*.nix",), "variable_files.read_nix", fixed="a Nix expression pins what it fetches by hash"),
    FileKind("hcl", r"(?:.*[-_.])?docker-bake(?:[-_.].*)?\.hcl", ("*.hcl",), "variable_files.read_hcl", fixed="each target of a bake file builds its own image"),
    FileKind("devcontainer", r"\.?devcontainer\.json", ("*devcontainer.json",), "dev_containers.read_devcontainer"),
    FileKind("docker", _DOCKER, ("*{Dockerfile,Containerfile,dockerfile}*",), "dockerfiles.read_dockerfile"),
)  # fmt: skip
"""All kinds of project files; of several that fit, the first counts."""
INSTALLERS = FileKind("python", r".*\.py", ("*.py",), "installer_scripts.read_script")
"""Other Python modules, which are project files only if they install torch; see `installs_torch`."""
_SCRIPTS = ("setup.py", "noxfile.py")
_MODULES = ("python", "notebook")
"""The kinds whose files are Python modules too."""
_FOLDERS = ("requirements", "constraints")

_COMMANDS = re.compile(
    rb"[!%][^\n\"]{0,300}?\b(?:install|create|env)\b|%%(?:ba|script|sh|sx|system)"
    rb"|\"\s*(?:pip|conda|mamba|micromamba|uv)[ \t][^\n\"]{0,100}?\binstall\b"
)
"""Texts in the cells of a notebook that install something."""
_PINS = (b"torch==", b"torch~=", b"torch>=", b"torch<", b"/whl/", b"nvidia/cuda:", b"pytorch:")
_INSTALLS = (b"pip", b"from_registry(", b"packages_to_install", b"conda", b"base_image")
_RUN_RECORD = re.compile(r"(?:^|[\\/])(?:wandb[\\/](?:offline-)?run-|mlruns[\\/]\d)")
_TOKENS = re.compile(rb"[Tt]orch|TORCH|nvidia/cuda|NCCL_(?:ASYNC|BLOCKING|DESYNC|ENABLE_TIMING)")


def find_kind(path: str) -> FileKind | None:
    """Return the kind of project file that ``path`` names, or None.

    A ``.txt`` or ``.in`` file in a folder called ``requirements`` is a requirements file whatever its name. What wandb and
    MLflow write about a run, with the packages that were installed for it, belongs to no project.
    """
    name = os.path.basename(path)
    if name.endswith((".py", ".pyi")) and name not in _SCRIPTS:
        return None  # most files are; this is only faster
    found = _compile_patterns().fullmatch(name)
    if _RUN_RECORD.search(path):
        return None
    if found is not None:
        return KINDS[int((found.lastgroup or "")[1:])]
    in_folder = name.endswith((".txt", ".in")) and os.path.basename(os.path.dirname(path)) in _FOLDERS
    return next(kind for kind in KINDS if kind.name == "requirements") if in_folder else None


def kind_of(path: str) -> str | None:
    """Return the name of the kind of project file that ``path`` names, or None."""
    kind = find_kind(path)
    return None if kind is None else kind.name


def name_patterns() -> tuple[str, str]:
    """Return regular expressions for the names of project files, and for the folders in which any text file is one."""
    return "|".join(kind.pattern for kind in KINDS if kind.name not in _MODULES), "|".join(_FOLDERS)


@cache
def _compile_patterns() -> re.Pattern[str]:
    return re.compile("|".join(f"(?P<k{number}>{kind.pattern})" for number, kind in enumerate(KINDS)))


def is_document(path: str) -> bool:
    """Return whether the file is a project file but no Python module (``setup.py`` and notebooks are both)."""
    return kind_of(path) not in (None, *_MODULES)


def installs_torch(data: bytes) -> bool:
    """Return whether a Python module may run a command that installs torch, or describe an image with it."""
    return any(pin in data for pin in _PINS) and any(install in data for install in _INSTALLS)


def may_concern_rules(kind: str, data: bytes, *, pins: bool = False) -> bool:
    """Return whether the content of a file of a kind can hold anything that a rule looks for.

    ``pins``: whether that includes the pins of a list without torch, and the Python or CUDA of an image, which may hold back
    the torch of the list beside it.
    """
    if kind == "notebook" and not _COMMANDS.search(data):
        return False
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = data.replace(b"\0", b"")
    return _TOKENS.search(data) is not None or (pins and kind in _HOLDING and _HOLDING[kind] in data)


_HOLDING = {"requirements": b"==", "docker": b"python", "yaml": b"python_requirements"}
