"""The one command that mends it, for pip and for uv."""

from __future__ import annotations

from dataclasses import dataclass

from torchmigrate.probe.facts import Facts
from torchmigrate.tables import matrix
from torchmigrate.tables.matrix import Build

COMPANIONS = ("torchvision", "torchaudio")
JETSON_INDEX = "https://pypi.jetson-ai-lab.io"
"""NVIDIA's index of wheels that are built for Jetson: <https://www.jetson-ai-lab.com>."""


@dataclass(frozen=True, slots=True)
class Install:
    """The same installation for both installers."""

    pip: str
    uv: str

    def best(self, facts: Facts) -> str:
        """The command for this interpreter: uv needs no pip in it."""
        return self.pip if facts.python.pip else self.uv


def _install(arguments: list[str]) -> Install:
    return Install(" ".join(["pip install", *arguments]), " ".join(["uv pip install", *arguments]))


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
    return _install([*pins, *(["--index-url", index] if index else [])])


def reinstall(facts: Facts) -> Install:
    """Installs the installed torch once more, over its broken files."""
    version = facts.torch.version if facts.torch else ""
    local = version.partition("+")[2]
    if local in {build.variant for build in matrix.builds()}:
        return _install(["--force-reinstall", f"torch=={version}", "--index-url", f"{matrix.INDEX}/{local}"])
    public = version.split("+")[0]
    return _install(["--force-reinstall", f"torch=={public}" if matrix.number(public) else "torch"])


def pip(arguments: str, facts: Facts) -> str:
    """A pip command for this interpreter: through uv where it has no pip."""
    return f"pip {arguments}" if facts.python.pip else f"uv pip {arguments.replace(' -y', '')}"


def jetson(facts: Facts) -> Install:
    """Installs the build that NVIDIA makes for this Jetson: JetPack 6 is Jetson Linux 36, JetPack 7 is 38 and 39."""
    release = matrix.number((facts.platform.jetson or "R36")[1:])
    path = "sbsa/cu130" if release >= (38,) else "jp6/cu126"
    projects = [project for project in COMPANIONS if project in facts.packages]
    return _install(["torch", *projects, "--index-url", f"{JETSON_INDEX}/{path}"])


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
