"""The one command that mends it, for the installer of this interpreter: pip, uv, conda or poetry."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement

from torchmigrate.probe.facts import Facts, Gpu
from torchmigrate.tables import matrix
from torchmigrate.tables.matrix import Build

COMPANIONS = ("torchvision", "torchaudio")
JETSON_INDEX = "https://pypi.jetson-ai-lab.io"
"""NVIDIA's index of wheels that are built for Jetson: <https://www.jetson-ai-lab.com>."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How the probe was called, for hints that name the call. No part of the facts: it has paths in it."""

    command: str = "torchmigrate probe"
    python: str | None = None
    """The interpreter that was asked."""


@dataclass(frozen=True, slots=True)
class Install:
    """The same installation for each installer."""

    pip: str
    uv: str
    own: str | None = None
    """For the installer that the environment is made with, where that is neither of the two."""

    def best(self, facts: Facts) -> str:
        """The command for this interpreter: uv needs no pip in it."""
        return self.own or (self.uv if _by_uv(facts) else self.pip)


def _by_uv(facts: Facts) -> bool:
    return facts.python.manager == "uv" or not facts.python.pip


def by_conda(facts: Facts) -> bool:
    """Whether conda installed torch: pip would put another one over files that conda counts as its own."""
    return facts.torch is not None and facts.torch.installer == "conda"


def _by_poetry(facts: Facts) -> bool:
    return facts.python.manager == "poetry" and not by_conda(facts)


def _install(facts: Facts, arguments: Iterable[str], own: str | None = None) -> Install:
    """An installation; into an environment of its own where the system keeps this one to itself (PEP 668)."""
    pip, uv = (" ".join([tool, *arguments]) for tool in ("pip install", "uv pip install"))
    if facts.python.managed:
        pip, uv = f"python3 -m venv .venv && .venv/bin/{pip}", f"uv venv && {uv}"
    return Install(pip, uv, own)


def install(build: Build, facts: Facts) -> Install:
    """Installs a build, together with the companions that the interpreter has.

    The local version (``+cu126``) is pinned wherever the plain one could be taken as installed already: every build
    of a release satisfies ``torch==2.12.1``, and an installer then leaves the wrong one in place.
    """
    index = matrix.index_url(build)
    installed = facts.torch.version if facts.torch else ""
    if index is None and build.cuda and installed.split("+")[0] == build.version:
        index = f"{matrix.INDEX}/{build.variant}"
    local = f"+{build.variant}" if index else ""
    pins = [f"torch=={build.version}{local}"]
    for project in COMPANIONS:
        if project in facts.packages and (version := matrix.companion(project, build.torch)):
            pinned = matrix.companion_torch(project, version) is not None
            pins.append(f"{project}=={version}{local if pinned else ''}")
    others = moved(facts, build)
    # With the others, the package index is asked as well: torch's own does not have them all.
    option = "--extra-index-url" if others else "--index-url"
    arguments = [*pins, *others, *([option, index] if index else [])]
    if by_conda(facts):
        return _install(facts, arguments, own=_conda(build, facts, others))
    if _by_poetry(facts):
        return _install(facts, arguments, own=_poetry(build, pins, index))
    whole = _install(facts, arguments)
    if again := rebuilt(facts, build):
        names = " ".join(again)
        return Install(f"{whole.pip} && {REBUILD} {names}", f"{whole.uv} && {REBUILD_BY_UV} {names}")
    return whole


REBUILD = "pip install --force-reinstall --no-deps --no-build-isolation --no-cache-dir"
REBUILD_BY_UV = "uv pip install --reinstall --no-deps --no-build-isolation --no-cache"


def rebuild(project: str, facts: Facts) -> str:
    """Installs a package with compiled code once more, built against the torch that is there."""
    return f"{REBUILD_BY_UV if _by_uv(facts) else REBUILD} {project}"


def moved(facts: Facts, build: Build) -> list[str]:
    """The packages whose installed release refuses a build's torch: they are named without a version.

    An installer then looks for a release that accepts the torch that is pinned, and refuses where there is none.
    """
    return [
        project
        for project, line in facts.requires.items()
        if project not in COMPANIONS and not accepts(line, build.version, facts)
    ]


def rebuilt(facts: Facts, build: Build) -> list[str]:
    """The packages that say nothing of a torch version, and are compiled against that of the installed one."""
    if facts.torch is None or matrix.minor(facts.torch.version) == build.torch:
        return []
    others = {*COMPANIONS, *moved(facts, build)}
    linked = dict.fromkeys(e.distribution for e in facts.extensions if e.linked or e.torch)
    return [project for project in linked if project not in others]


@functools.lru_cache(4096)
def parsed(line: str) -> Requirement | None:
    """A requirement as it is written in metadata; None where it cannot be read."""
    try:
        return Requirement(line)
    except InvalidRequirement:
        return None


def accepts(line: str, version: str, facts: Facts) -> bool:
    """Whether a requirement of a package on torch, as its metadata has it, allows a version; true if it is unreadable."""
    requirement = parsed(line)
    if requirement is None:
        return True
    about = {"sys_platform": facts.platform.system.lower(), "platform_machine": facts.platform.machine}
    about |= {"platform_system": facts.platform.system, "extra": ""}
    if facts.python.version:
        about |= {
            "python_version": matrix.minor(facts.python.version),
            "python_full_version": facts.python.version,
        }
    if requirement.marker and not requirement.marker.evaluate(about):
        return True
    return requirement.specifier.contains(version.split("+")[0], prereleases=True)


def _conda(build: Build, facts: Facts, others: Iterable[str]) -> str:
    """Conda-forge's builds: it publishes all of them, and no other channel has new ones."""
    flavour = "gpu" if build.cuda else "cpu"
    names = [f"pytorch-{flavour}={build.torch}"]
    if build.cuda:
        major = matrix.number(build.cuda)[0]
        if major == 11:  # conda-forge gave CUDA 11 up at a release of its own choice: the newest that has it
            names = [f'"pytorch-{flavour}<{build.torch}.99"']
        names.append(f'"cuda-version>={major},<{major + 1}"')
    names += [project for project in COMPANIONS if project in facts.packages]
    return " ".join(["conda install -c conda-forge", *names, *others])


def _poetry(build: Build, pins: Iterable[str], index: str | None) -> str:
    if index is None:
        return " ".join(["poetry add", *pins])
    source = f"pytorch-{build.variant}"
    return f"poetry source add --priority=explicit {source} {index} && poetry add --source {source} {' '.join(pins)}"


def reinstall(facts: Facts) -> Install:
    """Installs the installed torch once more, over its broken files."""
    version = facts.torch.version if facts.torch else ""
    own = "conda install --force-reinstall pytorch" if by_conda(facts) else None
    local = version.partition("+")[2]
    if local in {build.variant for build in matrix.builds()}:
        index = f"{matrix.INDEX}/{local}"
        return _install(facts, ["--force-reinstall", f"torch=={version}", "--index-url", index], own)
    public = version.split("+")[0]
    return _install(
        facts, ["--force-reinstall", f"torch=={public}" if matrix.number(public) else "torch"], own
    )


def pip(arguments: str, facts: Facts) -> str:
    """A pip command for this interpreter: through uv where it has no pip."""
    return f"uv pip {arguments.replace(' -y', '')}" if _by_uv(facts) else f"pip {arguments}"


def jetson(facts: Facts) -> Install:
    """Installs the build that NVIDIA makes for this Jetson: JetPack 6 is Jetson Linux 36, JetPack 7 is 38 and 39."""
    release = matrix.number((facts.platform.jetson or "R36")[1:])
    path = "sbsa/cu130" if release >= (38,) else "jp6/cu126"
    projects = [project for project in COMPANIONS if project in facts.packages]
    return _install(facts, ["torch", *projects, "--index-url", f"{JETSON_INDEX}/{path}"])


def leave_out(gpus: Collection[Gpu], facts: Facts) -> str:
    """Starts programs with the other NVIDIA GPUs only, by their numbers on the bus: CUDA's own go by speed."""
    nvidia = [gpu for gpu in facts.gpus if gpu.vendor == "nvidia"]
    kept = ",".join(str(number) for number, gpu in enumerate(nvidia) if gpu not in gpus)
    return f"export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES={kept}"


def upgrade_driver(cuda: str, facts: Facts) -> str:
    """What to do for a newer driver, and where: a container and WSL use the host's."""
    if facts.platform.jetson:
        return f"upgrade to a JetPack whose driver is {matrix.minimum_driver(cuda, 'Linux')} or newer"
    version = matrix.recommended_driver(cuda, "Windows" if facts.platform.wsl else facts.platform.system)
    where = ""
    if facts.platform.wsl:
        where = " on Windows (WSL uses it)"
    elif facts.platform.container:
        where = " on the host (a container uses it)"
    return f"upgrade the NVIDIA driver{where} to {version} or newer"
