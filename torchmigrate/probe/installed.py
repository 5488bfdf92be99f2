"""Findings about the interpreter, the installed torch and what is installed beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from torchmigrate.model.findings import Finding
from torchmigrate.probe import commands
from torchmigrate.probe.facts import Extension, Facts, Torch
from torchmigrate.probe.fit import best, platform_of
from torchmigrate.probe.saying import error, info, warning
from torchmigrate.tables import matrix

ENDED = {
    "torchtext": "its development has ended, and its last release was built for torch 2.3",
    "functorch": "it has been a part of torch since 2.0",
}


def findings(facts: Facts) -> Iterator[Finding]:
    """What is wrong before any GPU is looked at."""
    if facts.python.failure is not None:
        yield error(
            "RT001",
            f"the Python interpreter could not be asked: {facts.python.failure}",
            "name another with --python PATH",
        )
        return
    if facts.torch is None:
        yield warning("RT002", f"torch is not installed in this Python {facts.python.version}")
    else:
        yield from imported(facts, facts.torch)
        yield from two_majors(facts, facts.torch)
        yield from extensions(facts, facts.torch)
        yield from companions(facts, facts.torch)
    yield from torchcomms(facts)
    for project, why in ENDED.items():
        if project in facts.packages:
            yield warning(
                "RT009",
                f"{project} {facts.packages[project]} is left over: {why}",
                commands.pip(f"uninstall -y {project}", facts),
            )


def imported(facts: Facts, torch: Torch) -> Iterator[Finding]:
    """Importing torch raised, hung or killed the interpreter."""
    said = torch.imported
    if said.outcome == "hung":
        yield warning(
            "RT004",
            f"importing torch {torch.version} did not end ({said.detail}); what follows is judged by its files",
            "torchmigrate probe --timeout 60",
        )
    elif said.outcome == "killed":
        yield error(
            "RT005",
            f"importing torch {torch.version} kills the interpreter ({said.detail})",
            commands.reinstall(facts).best(facts),
        )
    elif said.outcome == "raised" and not explained(facts, torch):
        yield error(
            "RT003",
            f"importing torch {torch.version} fails: {said.detail}",
            commands.reinstall(facts).best(facts),
        )


def explained(facts: Facts, torch: Torch) -> bool:
    """Whether another finding says why the import fails."""
    detail = torch.imported.detail or ""
    return bool(
        ("undefined symbol: nccl" in detail and clashing(facts, torch)) or list(runtime_missing(facts, torch))
    )


def clashing(facts: Facts, torch: Torch) -> list[str]:
    """The nvidia-* packages for another CUDA major whose files are the same as those of one that torch needs."""
    major = (torch.cuda or "").split(".")[0]
    others = []
    for package in facts.packages:
        stem, _, number = package.rpartition("-cu")
        if (
            package.startswith("nvidia-")
            and number.isdigit()
            and number != major
            and f"{stem}-cu{major}" in facts.packages
        ):
            others.append(package)
    return others


def two_majors(facts: Facts, torch: Torch) -> Iterator[Finding]:
    """nvidia-nccl-cu12 and -cu13 both hold ``nvidia/nccl/lib/libnccl.so.2``; the last one installed wins."""
    others = clashing(facts, torch) if torch.cuda else []
    if not others:
        return
    major = (torch.cuda or "").split(".")[0]
    wanted = [f"{other.rpartition('-cu')[0]}-cu{major}" for other in others]
    pins = " ".join(f"{package}=={facts.packages[package]}" for package in wanted)
    hint = f"pip uninstall -y {' '.join(others)} && pip install --force-reinstall --no-deps {pins}"
    if not facts.python.pip:
        hint = f"uv pip uninstall {' '.join(others)} && uv pip install --reinstall --no-deps {pins}"
    message = (
        f"{' and '.join(others)} {'is' if len(others) == 1 else 'are'} installed beside {' and '.join(wanted)} "
        f"and overwrite{'s' if len(others) == 1 else ''} the same files"
    )
    if "undefined symbol" in (torch.imported.detail or ""):
        yield error("RT006", f"importing torch fails ({torch.imported.detail}): {message}", hint)
    else:
        yield warning("RT006", message, hint)


def runtime_missing(facts: Facts, torch: Torch) -> Iterator[str]:
    """The CUDA major of the runtime library that an import could not find."""
    if match := re.search(r"libcudart\.so\.(\d+)", torch.imported.detail or ""):
        yield match[1]


def extensions(facts: Facts, torch: Torch) -> Iterator[Finding]:
    """Compiled extensions for another CUDA major than torch's."""
    major = torch.cuda.split(".")[0] if torch.cuda else None
    wrong = [e for e in facts.extensions if e.cuda != major]
    for missing in runtime_missing(facts, torch):
        if missing == major or not any(e.cuda == missing for e in wrong):
            yield error(
                "RT007",
                f"importing torch {torch.version} fails: libcudart.so.{missing} is missing",
                commands.reinstall(facts).best(facts),
            )
    for extension in wrong:
        if extension.distribution in commands.COMPANIONS:
            yield companion_mismatch(
                facts, torch, extension.distribution, f"was built for CUDA {extension.cuda}"
            )
            continue
        brings = f"brings CUDA {major}" if major else "is a CPU build"
        yield error(
            "RT007",
            f"{extension.distribution} {extension.version} was built for CUDA {extension.cuda} and needs "
            f"libcudart.so.{extension.cuda}; torch {torch.version} {brings}",
            other_major(facts, torch, extension),
        )


def other_major(facts: Facts, torch: Torch, extension: Extension) -> str:
    """The command that brings torch and an extension to one CUDA major: torch moves if it can, else the extension."""
    minor = matrix.minor(torch.version)
    if build := best(minor, facts, facts.gpus, cuda_major=extension.cuda):
        return commands.install(build, facts).best(facts)
    return f"reinstall {extension.distribution}, built for torch {minor} and its CUDA"


def companion_mismatch(facts: Facts, torch: Torch, project: str, why: str) -> Finding:
    """A companion that was made for another torch; mended by the release that goes with the installed torch."""
    minor, local = matrix.minor(torch.version), torch.version.partition("+")[2]
    version = matrix.companion(project, minor)
    hint = None
    if version is not None:
        platform = platform_of(facts)
        published = {b.variant for b in matrix.builds_of(minor, platform or "") if not b.default}
        index = local if local in published else None
        pin = f"{project}=={version}" + (f"+{index} --index-url {matrix.INDEX}/{index}" if index else "")
        reinstall = "--force-reinstall --no-deps " if "CUDA" in why else ""
        hint = commands.pip(f"install {reinstall}{pin}", facts)
    return error(
        "RT008", f"{project} {facts.packages.get(project)} {why}; installed is torch {torch.version}", hint
    )


def companions(facts: Facts, torch: Torch) -> Iterator[Finding]:
    """torchvision, torchaudio and triton that were made for another torch."""
    minor = matrix.minor(torch.version)
    for project in commands.COMPANIONS:
        version = facts.packages.get(project)
        made_for = matrix.companion_torch(project, version) if version else None
        said = any(
            e.distribution == project and torch.cuda and e.cuda != torch.cuda.split(".")[0]
            for e in facts.extensions
        )
        if made_for and made_for != minor and not said:
            yield companion_mismatch(facts, torch, project, f"was made for torch {made_for}")
    platform, triton = platform_of(facts), facts.packages.get("triton")
    if triton is None or platform is None or torch.cuda is None:
        return
    for build in matrix.builds_of(minor, platform):
        pin = dict(build.libraries).get("triton")
        # A patch release's own pin may differ from the newest one's; only another minor version is surely wrong.
        if (
            pin
            and matrix.number(triton)[:2] != matrix.number(pin.lstrip("~="))[:2]
            and not _satisfies(triton, pin)
        ):
            exact = pin if pin.startswith("~") else f"=={pin}"
            yield warning(
                "RT008",
                f"triton {triton} is not the one that torch {torch.version} was made with ({pin})",
                commands.pip(f'install "triton{exact}"', facts),
            )


def _satisfies(version: str, pin: str) -> bool:
    try:
        return version in SpecifierSet(pin if pin.startswith("~") else f"=={pin}")
    except InvalidSpecifier:
        return True


def torchcomms(facts: Facts) -> Iterator[Finding]:
    """torchcomms is switched on and missing, or there and off."""
    asked = facts.environment.get("TORCH_DISTRIBUTED_USE_TORCHCOMMS", "").lower() in ("1", "true", "yes")
    on = asked or (facts.torch is not None and facts.torch.imported.torchcomms_on is True)
    if on and "torchcomms" not in facts.packages:
        yield error(
            "RT029",
            "torchcomms is switched on, and it is not installed",
            commands.pip("install torchcomms", facts),
        )
    elif not on and "torchcomms" in facts.packages:
        yield info(
            "RT029",
            f"torchcomms {facts.packages['torchcomms']} is installed and switched off",
            "export TORCH_DISTRIBUTED_USE_TORCHCOMMS=1",
        )
