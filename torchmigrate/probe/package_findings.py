"""Findings about the interpreter, the import of torch, and the packages that are installed beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.specifiers import SpecifierSet

from torchmigrate.model.findings import Finding
from torchmigrate.probe import extension_findings, install_commands, library_findings
from torchmigrate.probe.build_fit import find_platform
from torchmigrate.probe.install_commands import ProbeCall, create_pip_command
from torchmigrate.probe.machine_facts import InstalledTorch, MachineFacts
from torchmigrate.probe.wording import create_error, create_info, create_warning
from torchmigrate.tables import torch_builds
from torchmigrate.tables.torch_builds import get_major, get_minor, parse_number

ENDED_PACKAGES = {
    "torchtext": "its development has ended, and its last release was built for torch 2.3",
    "functorch": "it has been part of torch since 2.0",
}
"""Package → why nobody should still have it."""


def check_packages(facts: MachineFacts, asked: ProbeCall) -> Iterator[Finding]:
    """Find what is wrong with the interpreter and its packages, whatever the GPUs are."""
    if facts.python.failure is not None:
        named = f" {asked.python}" if asked.python else ""
        message = f"the Python interpreter{named} could not be queried: {facts.python.failure}"
        yield create_error("RT001", message, "choose another interpreter with --python PATH")
        return
    if facts.torch is None:
        message = f"torch is not installed in this environment (Python {facts.python.version})"
        yield create_warning("RT002", message)
    else:
        yield from check_import(facts, facts.torch, asked)
        yield from check_cuda_majors(facts, facts.torch)
        yield from extension_findings.check_extensions(facts, facts.torch)
        yield from check_companions(facts, facts.torch)
        yield from check_triton(facts, facts.torch)
    yield from check_torchcomms(facts)
    for project, why in ENDED_PACKAGES.items():
        if version := facts.packages.get(project):
            hint = create_pip_command(f"uninstall -y {project}", facts)
            yield create_warning("RT009", f"{project} {version} is obsolete: {why}", hint)


def check_import(facts: MachineFacts, torch: InstalledTorch, asked: ProbeCall) -> Iterator[Finding]:
    """Find out whether importing torch raised, hung or crashed the interpreter."""
    result, importing = torch.imported, f"importing torch {torch.version}"
    if result.outcome == "hung":
        message = (
            f"{importing} does not finish ({result.detail}); the other findings are based on its files alone"
        )
        yield create_warning("RT004", message, f"{asked.command} --timeout 600")
    elif result.outcome == "killed" and result.guilty:
        message = (
            f"{importing} crashes the interpreter ({result.detail}), as importing {result.guilty} alone does"
        )
        yield create_error("RT005", message, create_repair_command(result.guilty, facts, torch))
    elif result.outcome == "killed":
        message = f"{importing} crashes the interpreter ({result.detail})"
        yield create_error("RT005", message, install_commands.create_reinstall_command(facts))
    elif result.outcome == "raised" and not is_import_explained(facts, torch):
        hint = find_dependency_command(facts, torch) or install_commands.create_reinstall_command(facts)
        yield create_error("RT003", f"{importing} fails: {result.detail}", hint)
    is_new = parse_number(facts.packages.get("numpy", ""))[:1] >= (2,)
    if needs_old_numpy(torch.version, facts.platform.system) and (
        is_new or any("_ARRAY_API" in text for text in result.warnings)
    ):
        message = f"torch {torch.version} was compiled for NumPy 1 and cannot use the NumPy that is installed"
        yield create_warning("RT008", message, create_repair_command("numpy", facts, torch))


def find_dependency_command(facts: MachineFacts, torch: InstalledTorch) -> str | None:
    """Return the command that installs a missing or broken package that torch imports; None if it is torch itself."""
    detail = torch.imported.detail or ""
    if missing := re.search(r"No module named '([\w-]+)", detail):
        if missing[1] in ("torch", "functorch"):
            return None
        return create_pip_command(f"install {missing[1].replace('_', '-')}", facts)
    if re.search(r"\bnumpy\b|_ARRAY_API|multiarray", detail, re.I):
        return create_repair_command("numpy", facts, torch)
    return None


def create_repair_command(project: str, facts: MachineFacts, torch: InstalledTorch) -> str:
    """Return the command that installs a package again which torch needs, in a release that this torch can use."""
    again = "--reinstall" if create_pip_command("", facts).startswith("uv") else "--force-reinstall"
    old = project == "numpy" and needs_old_numpy(torch.version, facts.platform.system)
    return create_pip_command(f"install {again} " + ('"numpy<2"' if old else project), facts)


def needs_old_numpy(version: str, system: str) -> bool:
    """Return whether a release of torch was compiled for NumPy 1.

    Sources: <https://github.com/pytorch/pytorch/issues/107302>, and for Windows <https://github.com/pytorch/pytorch/issues/128860>.
    """
    return parse_number(version)[:2] < ((2, 4) if system == "Windows" else (2, 3))


def is_import_explained(facts: MachineFacts, torch: InstalledTorch) -> bool:
    """Return whether another finding explains why the import fails."""
    return bool(
        ("undefined symbol: nccl" in (torch.imported.detail or "") and find_clashing_packages(facts, torch))
        or extension_findings.find_missing_runtime(torch)
        or library_findings.is_import_broken(facts, torch)
    )


def find_clashing_packages(facts: MachineFacts, torch: InstalledTorch) -> dict[str, str]:
    """Return the nvidia-* packages of another CUDA major version, each with the package whose files it overwrites."""
    found = {}
    for package in facts.packages:
        stem, _, number = package.rpartition("-cu")
        wanted = f"{stem}-cu{get_major(torch.cuda)}"
        if stem.startswith("nvidia-") and number.isdigit() and wanted != package and wanted in facts.packages:
            found[package] = wanted
    return found


def check_cuda_majors(facts: MachineFacts, torch: InstalledTorch) -> Iterator[Finding]:
    """Find NVIDIA packages for two CUDA major versions that hold the same files."""
    # nvidia-nccl-cu12 and -cu13 both contain nvidia/nccl/lib/libnccl.so.2; the one installed last wins.
    clash = find_clashing_packages(facts, torch) if torch.cuda else {}
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
        yield create_error("RT006", f"importing torch fails ({torch.imported.detail}): {message}", hint)
    else:
        yield create_warning("RT006", message, hint)


def report_companion(
    facts: MachineFacts, torch: InstalledTorch, project: str, why: str, *, again: bool = False
) -> Finding:
    """Create the finding about a companion that does not fit torch; ``again``: its release may be right, its build not."""
    minor, local = get_minor(torch.version), torch.version.partition("+")[2]
    version = torch_builds.find_companion_release(project, minor)
    hint = None
    if version is not None:
        platform = find_platform(facts)
        published = {b.variant for b in torch_builds.find_builds(minor, platform or "") if not b.default}
        index = local if local in published else None
        pin = f"{project}=={version}" + (
            f"+{index} --index-url {torch_builds.INDEX}/{index}" if index else ""
        )
        hint = create_pip_command(f"install {'--force-reinstall --no-deps ' if again else ''}{pin}", facts)
    name = f"{project} {facts.packages.get(project)}"
    return create_error("RT008", f"{name} {why}, but torch {torch.version} is installed", hint)


def check_companions(facts: MachineFacts, torch: InstalledTorch) -> Iterator[Finding]:
    """Find torchvision and torchaudio that were built for another torch."""
    other_cuda = {e.distribution: e.cuda for e in extension_findings.find_other_cuda_extensions(facts, torch)}
    for project in install_commands.COMPANIONS:
        version, line = facts.packages.get(project), facts.requires.get(project)
        built_for = torch_builds.find_companion_torch(project, version) if version else None
        lacking = [e.missing[0] for e in facts.extensions if e.distribution == project and e.missing]
        if project in other_cuda:
            why = f"was built for CUDA {other_cuda[project]}"
            yield report_companion(facts, torch, project, why, again=True)
        elif built_for and built_for != get_minor(torch.version):
            yield report_companion(facts, torch, project, f"was built for torch {built_for}")
        elif line and not install_commands.is_torch_accepted(line, torch.version, facts):
            yield report_companion(facts, torch, project, f"requires {line}")
        elif lacking:
            why = f"uses a symbol that this torch does not define ({lacking[0]})"
            yield report_companion(facts, torch, project, why, again=True)


def check_triton(facts: MachineFacts, torch: InstalledTorch) -> Iterator[Finding]:
    """Find a triton of another minor version than the one that torch pins."""
    platform, triton = find_platform(facts), facts.packages.get("triton")
    if triton is None or platform is None or torch.cuda is None:
        return
    for build in torch_builds.find_builds(get_minor(torch.version), platform):
        pin = dict(build.libraries).get("triton")
        # A patch release's own pin may differ from the newest one's; only another minor version is surely wrong.
        if pin is None or parse_number(triton)[:2] == parse_number(pin.lstrip("~="))[:2]:
            continue
        exact = pin if pin.startswith("~") else f"=={pin}"
        if triton not in SpecifierSet(exact):
            message = f"triton {triton} is installed, but torch {torch.version} was built for triton {pin}"
            yield create_warning("RT008", message, create_pip_command(f'install "triton{exact}"', facts))


def check_torchcomms(facts: MachineFacts) -> Iterator[Finding]:
    """Find torchcomms that is enabled but missing, or installed but not enabled."""
    asked = facts.environment.get("TORCH_DISTRIBUTED_USE_TORCHCOMMS", "").lower() in ("1", "true", "yes")
    on = asked or (facts.torch is not None and facts.torch.imported.torchcomms_on is True)
    version = facts.packages.get("torchcomms")
    if on and version is None:
        hint = create_pip_command("install torchcomms", facts)
        yield create_error("RT029", "torchcomms is enabled but not installed", hint)
    elif not on and version is not None:
        message = f"torchcomms {version} is installed but not enabled"
        yield create_info("RT029", message, "export TORCH_DISTRIBUTED_USE_TORCHCOMMS=1")
