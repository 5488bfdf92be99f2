"""Environments that are meant to be as they are: for one version, for one machine, or because a comment says so."""

from __future__ import annotations

import os
import re

from torchmigrate.documents import comments
from torchmigrate.documents.build import gives_torch, tags
from torchmigrate.documents.purposes import Purpose
from torchmigrate.documents.references import IN_DOCUMENTATION, Environment, Role, Unit
from torchmigrate.documents.upgrade import TORCH, lacks, stays
from torchmigrate.gates.kinds import kind_of
from torchmigrate.model.findings import NoFix
from torchmigrate.model.options import Options
from torchmigrate.model.vocabulary import Sort
from torchmigrate.project.project import Project
from torchmigrate.tables import wheels
from torchmigrate.text.source import Source

_NAMED = re.compile(
    r"(?:torch|pt|pytorch)[-_.]?v?[12][-_.]?\d+|(?:cu|cuda)[-_.]?1[0-3][-_.]?\d|(?:^|[-_./])(?:min(?:imum|imal)?|oldest|lowest"
    r"|legacy|old|jetson|rocm|xpu|npu|hpu|gaudi|habana|ascend|musa|tpu)(?=[-_./]|$)",
    re.IGNORECASE,
)

_VENDORED = re.compile(
    r"(?:^|/)(?:3rd[-_]?party|third[-_]?party|_?vendor(?:ed|s)?|submodules)/", re.IGNORECASE
)


def is_vendored(path: str, project: Project) -> bool:
    """Whether a file is of another project, of which this one has a copy."""
    return _VENDORED.search(project.inside(path).replace(os.sep, "/")) is not None


def check_unit(unit: Unit, source: Source, options: Options, project: Project) -> None:
    """Raises NoFix for what does not move, wherever it would go."""
    if unit.role is Role.LOCK:
        raise NoFix(
            "a lock file is written by its tool: upgrade torch with it, once the project's own files are mended"
        )
    if unit.role is Role.DOC:
        raise NoFix(IN_DOCUMENTATION)
    if is_vendored(os.path.realpath(source.path), project):
        raise NoFix("it is a copy of another project, which is upgraded where that comes from")
    if unit.fixed:
        raise NoFix(unit.fixed)
    key = ("meant", unit.environment, options)
    if reason := project.once(key, lambda: _meant(source, unit.environment, options)):
        raise NoFix(reason)
    if unit.role is Role.TEST:
        raise NoFix("what is tested is chosen there, for the machines that it runs on")


def _meant(source: Source, environment: Environment, options: Options) -> str:
    try:
        check_may_move(source, environment, options)
    except NoFix as reason:
        return str(reason)
    return ""


def check_may_move(source: Source, environment: Environment, options: Options) -> None:
    """Raises NoFix for an environment that is meant to be as it is."""
    if environment.held:
        raise NoFix(environment.held)
    if any(stays(one, options) for one in environment.units):
        raise NoFix("this installs an older torch, which tests often do on purpose")
    if meant := _named(source.path, environment, options):
        raise NoFix(f"the file is for one version, as its name says: {meant}")
    if _only_builds(source.path, environment):
        raise NoFix(
            "what is built with one torch has to run with it, and with which it runs is said elsewhere"
        )
    text = source.original.decode("latin-1")
    if comment := comments.holding(text, environment, lambda build: lacks(build, options)):
        raise NoFix(f'a comment takes it as meant: "{comment}"')


def _named(path: str, environment: Environment, options: Options) -> str:
    """What the name of a file says it is for; empty where that stays true: it keeps its CUDA."""
    kept = {tag for tag in tags([environment], gives_torch) if wheels.published(options.target, tag)}
    for match in _NAMED.finditer("/".join(path.replace(os.sep, "/").split("/")[-2:])):
        if f"cu{re.sub('[^0-9]', '', match[0])}" not in kept:
            return match[0].strip("-_./")
    return ""


def _only_builds(path: str, environment: Environment) -> bool:
    """Whether all that an environment asks of torch is for building: an extension is compiled against that torch."""
    torches = environment.of(Sort.REQUIREMENT, *TORCH)
    by_name = re.search(r"(?:^|[-_.])build(?:[-_.]|$)", os.path.basename(path), re.IGNORECASE)
    listed = kind_of(path) == "requirements" and by_name is not None
    return bool(torches) and (listed or all(one.purpose is Purpose.OTHER for one in torches))
