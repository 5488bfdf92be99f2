"""Findings about packages with compiled code that is bound to one torch, or to one CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.model.findings import Finding
from torchmigrate.probe import commands
from torchmigrate.probe.facts import Extension, Facts, Torch
from torchmigrate.probe.fit import best
from torchmigrate.probe.saying import error, info, warning
from torchmigrate.tables import matrix


def findings(facts: Facts, torch: Torch) -> Iterator[Finding]:
    """Find the extensions that were built for another CUDA or torch; each is reported for its first reason."""
    wrong = {e.distribution: e for e in for_other_cuda(facts, torch)}
    missing = runtime_missing(torch)
    if missing and (
        missing == matrix.major(torch.cuda) or not any(e.cuda == missing for e in wrong.values())
    ):
        message = f"importing torch {torch.version} fails: libcudart.so.{missing} is missing"
        yield error("RT007", message, commands.reinstall(facts))
    refused = [
        name for name, line in facts.requires.items() if not commands.accepts(line, torch.version, facts)
    ]
    by_name = {e.distribution: e for e in reversed(facts.extensions)}
    for name in dict.fromkeys((*refused, *by_name)):
        if name in commands.COMPANIONS:
            continue
        if name in refused:
            yield refusing(facts, torch, name, name in by_name)
        elif name in wrong and not is_for_other_torch(torch, wrong[name]):
            yield other_cuda(facts, torch, wrong[name])
        else:
            yield from other_torch(facts, torch, by_name[name])


def runtime_missing(torch: Torch) -> str | None:
    """Return the CUDA major version of the runtime library that the import of torch did not find."""
    found = re.search(r"libcudart\.so\.(\d+)", torch.imported.detail or "")
    return found[1] if found else None


def for_other_cuda(facts: Facts, torch: Torch) -> list[Extension]:
    """Return the extensions that have no library for torch's CUDA major version."""
    major = matrix.major(torch.cuda) or None
    majors: dict[str, list[Extension]] = {}
    for extension in facts.extensions:
        majors.setdefault(extension.distribution, []).append(extension)
    # An extension with libraries for several majors loads the one whose runtime it finds, or none with a CPU build.
    return [
        found[-1]
        for found in majors.values()
        if not any(e.cuda in (None, major) for e in found) and not (major is None and len(found) > 1)
    ]


def refusing(facts: Facts, torch: Torch, project: str, compiled: bool) -> Finding:
    """Create the finding about a package whose metadata refuses the installed torch."""
    name = " ".join(filter(None, (project, facts.packages.get(project))))
    message = f"{name} requires {facts.requires[project]}, but torch {torch.version} is installed"
    hint = commands.pip(f"install {project} torch=={torch.version}", facts)
    return (error if compiled else warning)("RT008", message, hint)


def other_cuda(facts: Facts, torch: Torch, extension: Extension) -> Finding:
    """Create the finding about an extension for another CUDA major version than torch's."""
    minor, has = matrix.minor(torch.version), f"provides CUDA {matrix.major(torch.cuda)}"
    message = (
        f"{extension.distribution} {extension.version} was built for CUDA {extension.cuda} and needs "
        f"libcudart.so.{extension.cuda}, but torch {torch.version} {has if torch.cuda else 'is a CPU build'}"
    )
    hint = f"reinstall {extension.distribution} in a build for torch {minor} and its CUDA version"
    if build := best(minor, facts, facts.gpus, cuda_major=extension.cuda):
        hint = commands.install_command(build, facts)
    # With a CPU build a package may still work on the CPU, unless all of it is bound to torch's C++ code.
    return (error if torch.cuda or extension.linked else warning)("RT007", message, hint)


def has_other_abi(torch: Torch, extension: Extension) -> bool:
    """Whether an extension is known to use another C++ ABI than torch."""
    return None not in (extension.new_abi, torch.new_abi) and extension.new_abi != torch.new_abi


def is_for_other_torch(torch: Torch, extension: Extension) -> bool:
    """Whether an extension was built for another torch, so that a torch of its CUDA would not run it either."""
    return has_other_abi(torch, extension) or extension.torch not in (None, matrix.minor(torch.version))


def other_torch(facts: Facts, torch: Torch, extension: Extension) -> Iterator[Finding]:
    """Find out whether a library uses symbols that torch lacks, or was built for another torch."""
    name, installed = f"{extension.distribution} {extension.version}", f"torch {torch.version}"
    other_abi = has_other_abi(torch, extension)
    reasons = []
    if extension.torch and extension.torch != matrix.minor(torch.version):
        reasons.append(f"for torch {extension.torch}")
    if other_abi:
        its, torchs = ("old", "new") if torch.new_abi else ("new", "old")
        reasons.append(f"with the {its} C++ ABI (torch uses the {torchs} one)")
    built = f"was built {' and '.join(reasons)}"
    hint = commands.rebuild(extension.distribution, facts)
    if extension.missing:
        why = f": it {built}" if reasons else ""
        message = f"{name} uses a symbol that {installed} does not define ({extension.missing[0]}){why}"
        yield error("RT041", message, hint)
    elif other_abi:
        yield error("RT041", f"{name} {built}, but {installed} is installed", hint)
    elif reasons and not extension.linked:
        yield warning("RT041", f"{name} {built}, but {installed} is installed", hint)
    elif reasons:
        yield info("RT041", f"{name} {built}, but {installed} defines every symbol that it uses")
