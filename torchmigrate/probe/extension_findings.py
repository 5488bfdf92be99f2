"""Findings about packages with compiled code that is bound to one torch, or to one CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.model.findings import Finding
from torchmigrate.probe import install_commands
from torchmigrate.probe.build_fit import find_best_build
from torchmigrate.probe.machine_facts import CompiledExtension, InstalledTorch, MachineFacts
from torchmigrate.probe.wording import create_error, create_info, create_warning
from torchmigrate.tables.torch_builds import get_major, get_minor


def check_extensions(facts: MachineFacts, torch: InstalledTorch) -> Iterator[Finding]:
    """Find the extensions that were built for another CUDA or torch; each is reported for its first reason."""
    wrong = {e.distribution: e for e in find_other_cuda_extensions(facts, torch)}
    missing = find_missing_runtime(torch)
    if missing and (missing == get_major(torch.cuda) or not any(e.cuda == missing for e in wrong.values())):
        message = f"importing torch {torch.version} fails: libcudart.so.{missing} is missing"
        yield create_error("RT007", message, install_commands.create_reinstall_command(facts))
    refused = [
        name
        for name, line in facts.requires.items()
        if not install_commands.is_torch_accepted(line, torch.version, facts)
    ]
    by_name = {e.distribution: e for e in reversed(facts.extensions)}
    for name in dict.fromkeys((*refused, *by_name)):
        if name in install_commands.COMPANIONS:
            continue
        if name in refused:
            yield report_refusal(facts, torch, name, name in by_name)
        elif name in wrong and not is_for_other_torch(torch, wrong[name]):
            yield report_other_cuda(facts, torch, wrong[name])
        else:
            yield from check_torch_symbols(facts, torch, by_name[name])


def find_missing_runtime(torch: InstalledTorch) -> str | None:
    """Return the CUDA major version of the runtime library that the import of torch did not find."""
    found = re.search(r"libcudart\.so\.(\d+)", torch.imported.detail or "")
    return found[1] if found else None


def find_other_cuda_extensions(facts: MachineFacts, torch: InstalledTorch) -> list[CompiledExtension]:
    """Return the extensions that have no library for torch's CUDA major version."""
    major = get_major(torch.cuda) or None
    majors: dict[str, list[CompiledExtension]] = {}
    for extension in facts.extensions:
        majors.setdefault(extension.distribution, []).append(extension)
    # An extension with libraries for several majors loads the one whose runtime it finds, or none with a CPU build.
    return [
        found[-1]
        for found in majors.values()
        if not any(e.cuda in (None, major) for e in found) and not (major is None and len(found) > 1)
    ]


def report_refusal(facts: MachineFacts, torch: InstalledTorch, project: str, compiled: bool) -> Finding:
    """Create the finding about a package whose metadata refuses the installed torch."""
    name = " ".join(filter(None, (project, facts.packages.get(project))))
    message = f"{name} requires {facts.requires[project]}, but torch {torch.version} is installed"
    hint = install_commands.create_pip_command(f"install {project} torch=={torch.version}", facts)
    return (create_error if compiled else create_warning)("RT008", message, hint)


def report_other_cuda(facts: MachineFacts, torch: InstalledTorch, extension: CompiledExtension) -> Finding:
    """Create the finding about an extension for another CUDA major version than torch's."""
    minor, has = get_minor(torch.version), f"provides CUDA {get_major(torch.cuda)}"
    message = (
        f"{extension.distribution} {extension.version} was built for CUDA {extension.cuda} and needs "
        f"libcudart.so.{extension.cuda}, but torch {torch.version} {has if torch.cuda else 'is a CPU build'}"
    )
    hint = f"reinstall {extension.distribution} as a build for torch {minor} and its CUDA version"
    if build := find_best_build(minor, facts, facts.gpus, cuda_major=extension.cuda):
        hint = install_commands.create_install_command(build, facts)
    # With a CPU build a package may still work on the CPU, unless all of it is bound to torch's C++ code.
    return (create_error if torch.cuda or extension.linked else create_warning)("RT007", message, hint)


def has_other_abi(torch: InstalledTorch, extension: CompiledExtension) -> bool:
    """Return whether an extension is known to use another C++ ABI than torch."""
    return None not in (extension.new_abi, torch.new_abi) and extension.new_abi != torch.new_abi


def is_for_other_torch(torch: InstalledTorch, extension: CompiledExtension) -> bool:
    """Return whether an extension was built for another torch, so that a torch of its CUDA would not run it either."""
    return has_other_abi(torch, extension) or extension.torch not in (
        None,
        get_minor(torch.version),
    )


def check_torch_symbols(
    facts: MachineFacts, torch: InstalledTorch, extension: CompiledExtension
) -> Iterator[Finding]:
    """Find out whether a library uses symbols that torch lacks, or was built for another torch."""
    name, installed = f"{extension.distribution} {extension.version}", f"torch {torch.version}"
    other_abi = has_other_abi(torch, extension)
    reasons = []
    if extension.torch and extension.torch != get_minor(torch.version):
        reasons.append(f"for torch {extension.torch}")
    if other_abi:
        its, torchs = ("old", "new") if torch.new_abi else ("new", "old")
        reasons.append(f"with the {its} C++ ABI (torch uses the {torchs} one)")
    built = f"was built {' and '.join(reasons)}"
    hint = install_commands.create_rebuild_command(extension.distribution, facts)
    if extension.missing:
        why = f": it {built}" if reasons else ""
        message = f"{name} uses a symbol that {installed} does not define ({extension.missing[0]}){why}"
        yield create_error("RT041", message, hint)
    elif other_abi:
        yield create_error("RT041", f"{name} {built}, but {installed} is installed", hint)
    elif reasons and not extension.linked:
        yield create_warning("RT041", f"{name} {built}, but {installed} is installed", hint)
    elif reasons:
        yield create_info("RT041", f"{name} {built}, but {installed} defines every symbol that it uses")
