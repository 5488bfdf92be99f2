"""Findings about the interpreter, the installed torch and what is installed beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from torchmigrate.model.findings import Finding
from torchmigrate.probe import commands, extensions, libraries
from torchmigrate.probe.commands import Asked
from torchmigrate.probe.facts import Facts, Torch
from torchmigrate.probe.fit import platform_of
from torchmigrate.probe.saying import error, info, warning
from torchmigrate.tables import matrix

ENDED = {
    "torchtext": "its development has ended, and its last release was built for torch 2.3",
    "functorch": "it has been a part of torch since 2.0",
}


def findings(facts: Facts, asked: Asked) -> Iterator[Finding]:
    """What is wrong before any GPU is looked at."""
    if facts.python.failure is not None:
        named = f" {asked.python}" if asked.python else ""
        yield error(
            "RT001",
            f"the Python interpreter{named} could not be asked: {facts.python.failure}",
            "name another with --python PATH",
        )
        return
    if facts.torch is None:
        yield warning("RT002", f"torch is not installed in this Python {facts.python.version}")
    else:
        yield from imported(facts, facts.torch, asked)
        yield from two_majors(facts, facts.torch)
        yield from extensions.findings(facts, facts.torch)
        yield from companions(facts, facts.torch)
    yield from torchcomms(facts)
    for project, why in ENDED.items():
        if project in facts.packages:
            yield warning(
                "RT009",
                f"{project} {facts.packages[project]} is left over: {why}",
                commands.pip(f"uninstall -y {project}", facts),
            )


def imported(facts: Facts, torch: Torch, asked: Asked) -> Iterator[Finding]:
    """Importing torch raised, hung or killed the interpreter."""
    said = torch.imported
    if said.outcome == "hung":
        yield warning(
            "RT004",
            f"importing torch {torch.version} did not end ({said.detail}); what follows is judged by its files",
            f"{asked.command} --timeout 600",
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
            broken_dependency(facts, torch) or commands.reinstall(facts).best(facts),
        )


def broken_dependency(facts: Facts, torch: Torch) -> str | None:
    """The command for a package that torch imports and that is itself missing or broken."""
    detail = torch.imported.detail or ""
    if missing := re.search(r"No module named '([\w-]+)", detail):
        if missing[1] in ("torch", "functorch"):
            return None
        return commands.pip(f"install {missing[1].replace('_', '-')}", facts)
    if re.search(r"\bnumpy\b|_ARRAY_API|multiarray", detail, re.I):
        again = "--reinstall" if commands.pip("", facts).startswith("uv") else "--force-reinstall"
        return commands.pip(f"install {again} numpy", facts)
    return None


def explained(facts: Facts, torch: Torch) -> bool:
    """Whether another finding says why the import fails."""
    detail = torch.imported.detail or ""
    return bool(
        ("undefined symbol: nccl" in detail and clashing(facts, torch))
        or extensions.runtime_missing(torch)
        or libraries.breaks_import(facts, torch)
    )


def clashing(facts: Facts, torch: Torch) -> list[str]:
    """The nvidia-* packages for another CUDA major whose files are the same as those of one that torch needs."""
    major = matrix.major(torch.cuda)
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
    major = matrix.major(torch.cuda)
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
        reinstall = "--force-reinstall --no-deps " if "CUDA" in why or "not there" in why else ""
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
        other = [e for e in extensions.for_other_cuda(facts, torch) if e.distribution == project]
        lacking = [e for e in facts.extensions if e.distribution == project and e.missing]
        line = facts.requires.get(project)
        if other:
            yield companion_mismatch(facts, torch, project, f"was built for CUDA {other[0].cuda}")
        elif made_for and made_for != minor:
            yield companion_mismatch(facts, torch, project, f"was made for torch {made_for}")
        elif line and not extensions.accepts(line, torch, facts):
            yield companion_mismatch(facts, torch, project, f"requires {line}")
        elif lacking:
            why = f"calls what is not there ({lacking[0].missing[0]})"
            yield companion_mismatch(facts, torch, project, why)
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
