"""Moves of torch from conda's list of an environment to that for pip: conda's `pytorch` channel ended with torch 2.5.

    - pytorch=2.4                        - pip
    - pytorch-cuda=12.1        →         - pip:
    - torchvision=0.19                     - torch==2.13.0
                                           - torchvision==0.28.0

What else depends on torch moves too, since conda would install its own torch for it; only where pip has the same package.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from torchmigrate.documents import package_fit
from torchmigrate.documents.conda_commands import create_command_edits, find_command
from torchmigrate.documents.conda_lists import is_conda_list
from torchmigrate.documents.file_edits import find_list_item
from torchmigrate.documents.references import Environment, InstallUnit, Reference, VersionStyle
from torchmigrate.documents.upgrade_rules import COMPANIONS
from torchmigrate.documents.version_clauses import parse_clauses
from torchmigrate.model.findings import Edit, NoFix
from torchmigrate.model.vocabulary import Sort
from torchmigrate.text.source_text import SourceText

_NAMES = {"pytorch": "torch", **{name: name for name in COMPANIONS}}
"""Package of conda → the same package for pip."""
_SELECTORS = frozenset({"pytorch-cuda", "pytorch-mutex", "cudatoolkit", "cpuonly"})
"""Packages of conda that choose the build, or are its CUDA: pip installs torch's own."""
_LEAVING = frozenset({*_NAMES, *_SELECTORS})
"""The packages that conda no longer installs after a move."""
_BROUGHT = frozenset(
    {
        *("cuda-cudart", "cuda-cupti", "cuda-libraries", "cuda-nvrtc", "cuda-nvtx", "cuda-runtime"),
        *("libcublas", "libcufft", "libcusolver", "libcusparse", "libnpp", "libnvjpeg", "libnvjpeg-dev"),
    }
)
"""The libraries that ``pytorch-cuda`` installs or restricts.

Source: https://github.com/pytorch/builder/blob/main/conda/pytorch-cuda/meta.yaml.
"""
_DEPENDS = re.compile(r"(?:py)?torch(?:[-_]|\Z)|pyg\Z|dgl|ignite\Z|fastai\Z")
"""The names of packages of conda that bring conda's torch, in addition to those of the tables."""
_REASON = (
    "conda's `pytorch` channel ends with torch 2.5, and it is unclear which builds other channels have; "
)
_IN_LIST = "require torch in the `pip:` section"
_IN_COMMAND = "install torch by pip"
_BEHIND_LIST = "remove torch and what it brings from this list, and install it by pip after `conda create`"


def is_from_conda(unit: InstallUnit) -> bool:
    """Return whether conda installs torch, or one of its companions."""
    found = unit.find_references(Sort.REQUIREMENT, "torch", *_NAMES)
    return any(one.style is VersionStyle.CONDA for one in found)


def list_leaving(unit: InstallUnit) -> frozenset[str]:
    """Return the packages that conda no longer installs after a move; an exported list also has the libraries of torch's CUDA."""
    return _LEAVING | (_BROUGHT if unit.find_references(Sort.REQUIREMENT, "pytorch-cuda") else frozenset())


def _check_other_commands(environment: Environment) -> None:
    """Raise NoFix where another command of conda installs what depends on torch, and conda's torch with it."""
    for unit in environment.units:
        for one in () if is_from_conda(unit) else unit.find_references(Sort.REQUIREMENT):
            if one.style is VersionStyle.CONDA and package_fit.depends_on_torch(one.name):
                raise NoFix(
                    f"another command of conda installs `{one.name}`, and its own torch with it; install that by pip too"
                )


def create_conda_edits(
    unit: InstallUnit, source: SourceText, releases: Mapping[str, str], index: str
) -> tuple[list[Edit], list[str]]:
    """Return the edits of a list or command that let pip install torch instead of conda, and the packages that conda loses.

    ``releases`` are those to pin by the names for pip; ``index`` is one that pip needs besides the default one, or empty.
    Raises NoFix.
    """
    _check_other_commands(unit.environment)
    text = source.original
    is_list = re.search(rb"(?m)^dependencies:", text) is not None
    reason = _REASON + (_IN_LIST if is_list else _IN_COMMAND)
    every, leaving = unit.find_references(Sort.REQUIREMENT), list_leaving(unit)
    packages = [one for one in every if one.style is VersionStyle.CONDA]
    depending = [
        one
        for one in packages
        if one.name not in leaving and (_DEPENDS.match(one.name) or package_fit.depends_on_torch(one.name))
    ]
    moved = [one for one in packages if one.name in leaving or one in depending]
    pins = [_render_pin(one, releases) for one in moved if one.name in _NAMES]
    for one in depending:
        if not package_fit.is_pure_dependent(one, releases["torch"]):
            raise NoFix(f"{reason}, and `{one.name}` too, which depends on it")
        pins.append(_render_bounds(one))
    if not is_list:
        command = find_command(text, moved[0])
        if command is None:  # a recipe has no list for pip
            is_exported = is_conda_list(text.decode("latin-1"))
            raise NoFix(_REASON + (_BEHIND_LIST if is_exported else _IN_LIST))
        options = [f"--extra-index-url {index}"] if index else []
        return create_command_edits(text, command, moved, [*pins, *options]), [one.name for one in moved]
    listed = [
        (one, item)
        for one in every
        if one.style is not VersionStyle.CONDA and (item := find_list_item(one, source))
    ]
    lines = [find_list_item(one, source) for one in moved]
    if any(one is None for one in lines) or any(one.name in _NAMES.values() for one, _ in listed):
        raise NoFix(reason)
    edits = [Edit(line.start, line.end, "") for line in lines if line is not None]
    pins = [f"--extra-index-url {index}", *pins] if index else pins
    if listed:
        first, item = listed[0]
        indent = text[item.start : first.span.start].rstrip(b"'\"").decode("latin-1")
        edits.append(Edit(item.start, item.start, "".join(f"{indent}{pin}\n" for pin in pins)))
    else:
        edits.append(_create_list(packages, pins, source))
    return edits, [one.name for one in moved]


def _render_pin(package: Reference, releases: Mapping[str, str]) -> str:
    """Return the requirement for pip: pinned where conda's is, else with its lower bound."""
    name, clauses = _NAMES[package.name], parse_clauses(package)
    if any(clause.is_upper for clause in clauses):
        return f"{name}=={releases[name]}"
    return name + ",".join(clause.convert_to_pep508() for clause in clauses)


def _render_bounds(package: Reference) -> str:
    """Return a requirement for pip with the bounds that conda has: `=1.9.3` is one release, `=1.9` any of a series."""
    bounds = (
        f"=={clause.public_version}"
        if clause.operator in ("=", "") and clause.public_version.count(".") > 1 and "*" not in clause.version
        else clause.convert_to_pep508()
        for clause in parse_clauses(package)
    )
    return package.name + ",".join(bounds)


_PIP_LIST = re.compile(rb"(?m)^[ \t]*- *pip:[ \t]*(?:#[^\n]*)?\r?\n(?P<item>[ \t]*- +)(?=\S)")
"""A list for pip, in which something else than a package is first, such as the project itself."""


def _create_list(packages: list[Reference], pins: list[str], source: SourceText) -> Edit:
    """Return the edit that adds to the list for pip, or one that adds such a list below the last package of conda. Raises NoFix."""
    text = source.original
    if listed := _PIP_LIST.search(text):
        item = listed["item"].decode("latin-1")
        return Edit(listed.start("item"), listed.start("item"), "".join(f"{item}{pin}\n" for pin in pins))
    placed = [(one, item) for one in packages if (item := find_list_item(one, source))]
    if not placed or re.search(rb"(?m)^[ \t]*- *pip:", text):
        raise NoFix(_REASON + _IN_LIST)
    last, item = max(placed, key=lambda pair: pair[1].end)
    indent = text[item.start : last.span.start].rstrip(b"'\"").decode("latin-1")
    inner = " " * len(indent) + "- "
    head = "" if any(one.name == "pip" for one in packages) else f"{indent}pip\n"
    return Edit(item.end, item.end, f"{head}{indent}pip:\n" + "".join(f"{inner}{pin}\n" for pin in pins))
