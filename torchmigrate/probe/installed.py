"""Findings about the interpreter, the import of torch, and the packages that are installed beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.specifiers import SpecifierSet

from torchmigrate.model.findings import Finding
from torchmigrate.probe import commands, extensions, libraries
from torchmigrate.probe.commands import Asked
from torchmigrate.probe.facts import Facts, Torch
from torchmigrate.probe.fit import platform_of
from torchmigrate.probe.saying import error, info, warning
from torchmigrate.tables import matrix

ENDED = {
    "torchtext": "its development has ended, and its last release was built for torch 2.3",
    "functorch": "it has been part of torch since 2.0",
}
"""Package → why nobody should still have it."""


def findings(facts: Facts, asked: Asked) -> Iterator[Finding]:
    """Find what is wrong with the interpreter and its packages, whatever the GPUs are."""
    if facts.python.failure is not None:
        named = f" {asked.python}" if asked.python else ""
        message = f"the Python interpreter{named} could not be queried: {facts.python.failure}"
        yield error("RT001", message, "choose another interpreter with --python PATH")
        return
    if facts.torch is None:
        yield warning("RT002", f"torch is not installed in this environment (Python {facts.python.version})")
    else:
        yield from imported(facts, facts.torch, asked)
        yield from two_majors(facts, facts.torch)
        yield from extensions.findings(facts, facts.torch)
        yield from companions(facts, facts.torch)
        yield from triton_mismatch(facts, facts.torch)
    yield from torchcomms(facts)
    for project, why in ENDED.items():
        if version := facts.packages.get(project):
            hint = commands.pip(f"uninstall -y {project}", facts)
            yield warning("RT009", f"{project} {version} is obsolete: {why}", hint)


def imported(facts: Facts, torch: Torch, asked: Asked) -> Iterator[Finding]:
    """Find out whether importing torch raised, hung or crashed the interpreter."""
    result, importing = torch.imported, f"importing torch {torch.version}"
    if result.outcome == "hung":
        message = f"{importing} does not finish ({result.detail}); the other findings rely on its files alone"
        yield warning("RT004", message, f"{asked.command} --timeout 600")
    elif result.outcome == "killed":
        message = f"{importing} crashes the interpreter ({result.detail})"
        yield error("RT005", message, commands.reinstall(facts))
    elif result.outcome == "raised" and not explained(facts, torch):
        hint = broken_dependency(facts, torch) or commands.reinstall(facts)
        yield error("RT003", f"{importing} fails: {result.detail}", hint)


def broken_dependency(facts: Facts, torch: Torch) -> str | None:
    """Return the command that installs a missing or broken package that torch imports; None if it is torch itself."""
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
    """Whether another finding explains why the import fails."""
    return bool(
        ("undefined symbol: nccl" in (torch.imported.detail or "") and clashing(facts, torch))
        or extensions.runtime_missing(torch)
        or libraries.breaks_import(facts, torch)
    )


def clashing(facts: Facts, torch: Torch) -> dict[str, str]:
    """Return the nvidia-* packages of another CUDA major version, each with the package whose files it overwrites."""
    found = {}
    for package in facts.packages:
        stem, _, number = package.rpartition("-cu")
        wanted = f"{stem}-cu{matrix.major(torch.cuda)}"
        if stem.startswith("nvidia-") and number.isdigit() and wanted != package and wanted in facts.packages:
            found[package] = wanted
    return found


def two_majors(facts: Facts, torch: Torch) -> Iterator[Finding]:
    """Find NVIDIA packages for two CUDA major versions that hold the same files."""
    # nvidia-nccl-cu12 and -cu13 both contain nvidia/nccl/lib/libnccl.so.2; the one installed last wins.
    clash = clashing(facts, torch) if torch.cuda else {}
    if not clash:
        return
    others, wanted = list(clash), list(clash.values())
    pins = " ".join(f"{package}=={facts.packages[package]}" for package in wanted)
    hint = f"pip uninstall -y {' '.join(others)} && pip install --force-reinstall --no-deps {pins}"
    if not facts.python.pip:
        hint = f"uv pip uninstall {' '.join(others)} && uv pip install --reinstall --no-deps {pins}"
    verb = "overwrites" if len(others) == 1 else "overwrite"
    message = f"{' and '.join(others)} {verb} files of {' and '.join(wanted)}, which torch needs"
    if "undefined symbol" in (torch.imported.detail or ""):
        yield error("RT006", f"importing torch fails ({torch.imported.detail}): {message}", hint)
    else:
        yield warning("RT006", message, hint)


def companion_mismatch(facts: Facts, torch: Torch, project: str, why: str, *, again: bool = False) -> Finding:
    """Create the finding about a companion that does not fit torch; ``again``: its release may be right, its build not."""
    minor, local = matrix.minor(torch.version), torch.version.partition("+")[2]
    version = matrix.companion(project, minor)
    hint = None
    if version is not None:
        platform = platform_of(facts)
        published = {b.variant for b in matrix.builds_of(minor, platform or "") if not b.default}
        index = local if local in published else None
        pin = f"{project}=={version}" + (f"+{index} --index-url {matrix.INDEX}/{index}" if index else "")
        hint = commands.pip(f"install {'--force-reinstall --no-deps ' if again else ''}{pin}", facts)
    name = f"{project} {facts.packages.get(project)}"
    return error("RT008", f"{name} {why}, but torch {torch.version} is installed", hint)


def companions(facts: Facts, torch: Torch) -> Iterator[Finding]:
    """Find torchvision and torchaudio that were built for another torch."""
    other_cuda = {e.distribution: e.cuda for e in extensions.for_other_cuda(facts, torch)}
    for project in commands.COMPANIONS:
        version, line = facts.packages.get(project), facts.requires.get(project)
        built_for = matrix.companion_torch(project, version) if version else None
        lacking = [e.missing[0] for e in facts.extensions if e.distribution == project and e.missing]
        if project in other_cuda:
            why = f"was built for CUDA {other_cuda[project]}"
            yield companion_mismatch(facts, torch, project, why, again=True)
        elif built_for and built_for != matrix.minor(torch.version):
            yield companion_mismatch(facts, torch, project, f"was built for torch {built_for}")
        elif line and not commands.accepts(line, torch.version, facts):
            yield companion_mismatch(facts, torch, project, f"requires {line}")
        elif lacking:
            why = f"uses a symbol that this torch does not define ({lacking[0]})"
            yield companion_mismatch(facts, torch, project, why, again=True)


def triton_mismatch(facts: Facts, torch: Torch) -> Iterator[Finding]:
    """Find a triton of another minor version than the one that torch pins."""
    platform, triton = platform_of(facts), facts.packages.get("triton")
    if triton is None or platform is None or torch.cuda is None:
        return
    for build in matrix.builds_of(matrix.minor(torch.version), platform):
        pin = dict(build.libraries).get("triton")
        # A patch release's own pin may differ from the newest one's; only another minor version is surely wrong.
        if pin is None or matrix.number(triton)[:2] == matrix.number(pin.lstrip("~="))[:2]:
            continue
        exact = pin if pin.startswith("~") else f"=={pin}"
        if triton not in SpecifierSet(exact):
            message = f"triton {triton} is installed, but torch {torch.version} was built for triton {pin}"
            yield warning("RT008", message, commands.pip(f'install "triton{exact}"', facts))


def torchcomms(facts: Facts) -> Iterator[Finding]:
    """Find torchcomms that is enabled but missing, or installed but not enabled."""
    asked = facts.environment.get("TORCH_DISTRIBUTED_USE_TORCHCOMMS", "").lower() in ("1", "true", "yes")
    on = asked or (facts.torch is not None and facts.torch.imported.torchcomms_on is True)
    version = facts.packages.get("torchcomms")
    if on and version is None:
        hint = commands.pip("install torchcomms", facts)
        yield error("RT029", "torchcomms is enabled but not installed", hint)
    elif not on and version is not None:
        message = f"torchcomms {version} is installed but not enabled"
        yield info("RT029", message, "export TORCH_DISTRIBUTED_USE_TORCHCOMMS=1")
