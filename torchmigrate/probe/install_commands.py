"""The commands in the probe's hints, for the installer of the judged interpreter: pip, uv, conda or poetry."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from packaging.requirements import InvalidRequirement, Requirement

from torchmigrate.model.torch_versions import parse_version
from torchmigrate.probe.build_fit import VIRTUAL_GPU, has_python_wheel
from torchmigrate.probe.machine_facts import Gpu, Interpreter, MachineFacts
from torchmigrate.tables import torch_builds
from torchmigrate.tables.build_selection import find_free_threaded_range, find_python_range
from torchmigrate.tables.torch_builds import TorchBuild

COMPANIONS = ("torchvision", "torchaudio")
JETSON_INDEX = "https://pypi.jetson-ai-lab.io"
"""NVIDIA's index of wheels that are built for Jetson: <https://www.jetson-ai-lab.com>."""
JETSON_WHEELS = "https://docs.nvidia.com/deeplearning/frameworks/install-pytorch-jetson-platform/"
"""NVIDIA's page about the wheels for each JetPack."""
JETPACK_5_WHEEL = (
    "https://developer.download.nvidia.com/compute/redist/jp/v512/pytorch/"
    "torch-2.1.0a0+41361538.nv23.06-cp38-cp38-linux_aarch64.whl"
)
"""NVIDIA's newest wheel for JetPack 5.1 and its Python 3.8: <https://forums.developer.nvidia.com/t/pytorch-for-jetson/72048>."""

REBUILD = "pip install --force-reinstall --no-deps --no-build-isolation --no-cache-dir"
REBUILD_BY_UV = "uv pip install --reinstall --no-deps --no-build-isolation --no-cache"


@dataclass(frozen=True, slots=True)
class ProbeCall:
    """The call of the probe, for hints that repeat it. It is no part of the facts, because it contains paths."""

    command: str = "torchmigrate probe"
    python: str | None = None
    """The judged interpreter."""


@dataclass(frozen=True, slots=True)
class InstallCommands:
    """The same installation for each installer."""

    pip: str
    uv: str
    own: str | None = None
    """The command of the installer that manages the environment, where that is neither pip nor uv."""

    def choose_command(self, facts: MachineFacts) -> str:
        """Return the command for this interpreter."""
        return self.own or (self.uv if _uses_uv(facts) else self.pip)


def _uses_uv(facts: MachineFacts) -> bool:
    """Return whether to install with uv, which also works where the interpreter has no pip."""
    return facts.python.manager == "uv" or not facts.python.pip


def is_from_conda(facts: MachineFacts) -> bool:
    """Return whether conda installed torch: pip would overwrite files that conda counts as its own."""
    return facts.torch is not None and facts.torch.installer == "conda"


def _create_install(facts: MachineFacts, arguments: Iterable[str], own: str | None = None) -> InstallCommands:
    """Return an installation; into a new environment where only the system may change this one (PEP 668)."""
    pip, uv = (" ".join([tool, *arguments]) for tool in ("pip install", "uv pip install"))
    if facts.python.managed:
        pip, uv = f"python3 -m venv .venv && .venv/bin/{pip}", f"uv venv && {uv}"
    return InstallCommands(pip, uv, own)


def choose_python(version: str, facts: MachineFacts) -> str:
    """Return the Python nearest to the present one that a version has wheels for: ``3.11``, ``3.14t``."""
    span = find_free_threaded_range(version) if facts.python.free_threaded else None
    if span:
        return span[1] + "t"
    low, high = find_python_range(parse_version(version)) or ("3.13", "3.13")
    newest = torch_builds.parse_number(facts.python.version or "")[:2] > torch_builds.parse_number(high)
    return high if newest else low


def create_virtual_environment_command(version: str, facts: MachineFacts) -> str:
    """Return the command that makes a virtual environment with a Python that a version has wheels for."""
    return f"uv venv --python {choose_python(version, facts)}"


def create_install(build: TorchBuild, facts: MachineFacts) -> InstallCommands:
    """Return the installation of a build, together with the companions that the interpreter has.

    Where the build has no wheel for this Python, it goes into a virtual environment with another one.
    """
    if not has_python_wheel(build, facts):
        empty = Interpreter(None, manager="uv")
        there = create_install(build, replace(facts, python=empty, torch=None, requires={}, extensions=()))
        command = f"{create_virtual_environment_command(build.torch, facts)} && {there.uv}"
        return InstallCommands(command, command)
    index = torch_builds.find_index_url(build)
    installed = facts.torch.version if facts.torch else ""
    # Every build of a release satisfies `torch==2.12.1`, so an installer would keep the wrong one: the local version
    # (`+cu126`) is pinned wherever the plain version could already be installed.
    if index is None and build.cuda and installed.split("+")[0] == build.version:
        index = f"{torch_builds.INDEX}/{build.variant}"
    local = f"+{build.variant}" if index else ""
    pins = [f"torch=={build.version}{local}"]
    for project in COMPANIONS:
        if project in facts.packages and (
            version := torch_builds.find_companion_release(project, build.torch)
        ):
            pinned = torch_builds.find_companion_torch(project, version) is not None
            pins.append(f"{project}=={version}{local if pinned else ''}")
    others = find_refusing_packages(facts, build)
    # torch's own index does not have the other packages, so the package index has to stay in use for them.
    option = "--extra-index-url" if others else "--index-url"
    arguments = [*pins, *others, *([option, index] if index else [])]
    if is_from_conda(facts):
        return _create_install(facts, arguments, own=_create_conda_command(build, facts, others))
    if facts.python.manager == "poetry":
        return _create_install(facts, arguments, own=_create_poetry_command(build, pins, index))
    whole = _create_install(facts, arguments)
    if again := find_packages_to_rebuild(facts, build):
        names = " ".join(again)
        return InstallCommands(f"{whole.pip} && {REBUILD} {names}", f"{whole.uv} && {REBUILD_BY_UV} {names}")
    return whole


def create_install_command(build: TorchBuild, facts: MachineFacts) -> str:
    """Return the command that installs a build with the installer of this interpreter."""
    return create_install(build, facts).choose_command(facts)


def create_rebuild_command(project: str, facts: MachineFacts) -> str:
    """Return the command that builds a package with compiled code again, against the installed torch."""
    return f"{REBUILD_BY_UV if _uses_uv(facts) else REBUILD} {project}"


def find_refusing_packages(facts: MachineFacts, build: TorchBuild) -> list[str]:
    """Return the packages whose installed release refuses a build's torch.

    A command names them without a version: an installer then looks for a release that accepts the pinned torch.
    """
    return [
        project
        for project, line in facts.requires.items()
        if project not in COMPANIONS and not is_torch_accepted(line, build.version, facts)
    ]


def find_packages_to_rebuild(facts: MachineFacts, build: TorchBuild) -> list[str]:
    """Return the packages that pin no torch version, but are compiled against the one that is installed."""
    if facts.torch is None or torch_builds.get_minor(facts.torch.version) == build.torch:
        return []
    others = {*COMPANIONS, *find_refusing_packages(facts, build)}
    linked = dict.fromkeys(e.distribution for e in facts.extensions if e.linked or e.torch)
    return [project for project in linked if project not in others]


@functools.lru_cache(4096)
def parse_requirement(line: str) -> Requirement | None:
    """Parse a requirement as it is written in metadata; None where it is malformed."""
    try:
        return Requirement(line)
    except InvalidRequirement:
        return None


def is_torch_accepted(line: str, version: str, facts: MachineFacts) -> bool:
    """Return whether a package's requirement allows a version of torch; true where either is unreadable."""
    requirement = parse_requirement(line)
    if requirement is None or not torch_builds.parse_number(version):
        return True
    about = {"sys_platform": facts.platform.system.lower(), "platform_machine": facts.platform.machine}
    about |= {"platform_system": facts.platform.system, "extra": ""}
    if python := facts.python.version:
        about |= {"python_version": torch_builds.get_minor(python), "python_full_version": python}
    if requirement.marker and not requirement.marker.evaluate(about):
        return True
    return requirement.specifier.contains(version.split("+")[0], prereleases=True)


def _create_conda_command(build: TorchBuild, facts: MachineFacts, others: Iterable[str]) -> str:
    """Return the command for conda-forge, the only channel that publishes new builds."""
    flavor = "gpu" if build.cuda else "cpu"
    names = [f"pytorch-{flavor}={build.torch}"]
    if build.cuda:
        major = torch_builds.parse_number(build.cuda)[0]
        # conda-forge dropped CUDA 11 at a release of its own choice: take the newest that has it.
        if major == 11:
            names = [f'"pytorch-{flavor}<{build.torch}.99"']
        names.append(f'"cuda-version>={major},<{major + 1}"')
    names += [project for project in COMPANIONS if project in facts.packages]
    return " ".join(["conda install -c conda-forge", *names, *others])


def _create_poetry_command(build: TorchBuild, pins: Iterable[str], index: str | None) -> str:
    """Return the command for poetry, which takes an index as a named source."""
    if index is None:
        return " ".join(["poetry add", *pins])
    source = f"pytorch-{build.variant}"
    return f"poetry source add --priority=explicit {source} {index} && poetry add --source {source} {' '.join(pins)}"


def create_reinstall_command(facts: MachineFacts) -> str:
    """Return the command that installs the installed torch again, over its broken files."""
    version = facts.torch.version if facts.torch else ""
    public, _, local = version.partition("+")
    arguments = ["--force-reinstall", f"torch=={public}" if torch_builds.parse_number(public) else "torch"]
    if local in {build.variant for build in torch_builds.load_builds()}:
        arguments = ["--force-reinstall", f"torch=={version}", "--index-url", f"{torch_builds.INDEX}/{local}"]
    own = "conda install --force-reinstall pytorch" if is_from_conda(facts) else None
    return _create_install(facts, arguments, own).choose_command(facts)


def create_pip_command(arguments: str, facts: MachineFacts) -> str:
    """Return a pip command for this interpreter, through uv where that is its installer."""
    return f"uv pip {arguments.replace(' -y', '')}" if _uses_uv(facts) else f"pip {arguments}"


def create_jetson_command(facts: MachineFacts) -> str:
    """Return the command that installs NVIDIA's build for this Jetson; for JetPack 5.0 and older, where such builds are."""
    # JetPack 5.1 is Jetson Linux 35.2 to 35.6, JetPack 6 is Jetson Linux 36, JetPack 7 is Jetson Linux 38 and 39.
    release = torch_builds.parse_number((facts.platform.jetson or "R36")[1:])
    if (35, 2) <= release < (36,):
        install = f"uv venv --python 3.8 && uv pip install {JETPACK_5_WHEEL}"
        if torch_builds.parse_number(facts.python.version or "")[:2] == (3, 8):
            install = _create_install(facts, [JETPACK_5_WHEEL]).choose_command(facts)
        return f"sudo apt-get install -y libopenblas-dev && {install}"
    if release < (36,):
        return f"upgrade to JetPack 6, or choose an older torch for this JetPack: {JETSON_WHEELS}"
    path = "sbsa/cu130" if release >= (38,) else "jp6/cu126"
    projects = [project for project in COMPANIONS if project in facts.packages]
    arguments = ["torch", *projects, "--index-url", f"{JETSON_INDEX}/{path}"]
    return _create_install(facts, arguments).choose_command(facts)


def create_hiding_command(gpus: Collection[Gpu], facts: MachineFacts) -> str:
    """Return the command that hides ``gpus`` from programs."""
    nvidia = [gpu for gpu in facts.gpus if gpu.vendor == "nvidia"]
    kept = ",".join(str(number) for number, gpu in enumerate(nvidia) if gpu not in gpus)
    # CUDA numbers GPUs by speed unless it is asked for the order on the bus, which is that of the facts.
    return f"export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES={kept}"


def advise_driver_upgrade(cuda: str, facts: MachineFacts) -> str:
    """Return the advice to upgrade the driver, and where: a container and WSL use the host's."""
    if facts.platform.jetson:
        return (
            f"upgrade to a JetPack whose driver is {torch_builds.find_minimum_driver(cuda, 'Linux')} or newer"
        )
    version = torch_builds.find_recommended_driver(
        cuda, "Windows" if facts.platform.wsl else facts.platform.system
    )
    if any(VIRTUAL_GPU.search(gpu.name) for gpu in facts.gpus):
        return (
            f"ask the administrator of the host for a vGPU release whose guest driver is {version} or newer"
        )
    where = " on the host (containers use it)" if facts.platform.container else ""
    where = " on Windows (WSL uses it)" if facts.platform.wsl else where
    return f"upgrade the NVIDIA driver{where} to {version} or newer"
