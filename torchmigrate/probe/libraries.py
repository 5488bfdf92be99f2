"""Findings about the libraries that torch loads: another version than its build expects, or another copy."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.model.findings import Finding
from torchmigrate.probe import commands
from torchmigrate.probe.facts import Facts, Torch
from torchmigrate.probe.fit import platform_of
from torchmigrate.probe.saying import error, info, warning
from torchmigrate.tables import matrix

STUB = "stubs/libcuda.so"
"""The entry of `Facts.shadowing` that stands for the folder of CUDA's stubs."""

_UNSET = "unset LD_LIBRARY_PATH"


def findings(facts: Facts) -> Iterator[Finding]:
    """Find cuDNN and NCCL of another version, and copies of CUDA libraries on ``LD_LIBRARY_PATH``."""
    torch = facts.torch
    if torch is None or torch.cuda is None:
        return
    other = list(versions(facts, torch))
    yield from other
    yield from shadowed(facts, torch, bool(other))


def _package(torch: Torch, library: str) -> str:
    """Return the package that provides a library to torch: ``nvidia-cudnn-cu13``."""
    return f"nvidia-{library}-cu{matrix.major(torch.cuda)}"


def pinned(facts: Facts, torch: Torch, library: str) -> str | None:
    """Return the version of a library that torch pins: by its metadata, else by the table's row for its build."""
    package = _package(torch, library)
    for line in torch.requires:
        requirement = commands.parsed(line)
        if requirement is None or requirement.name != package:
            continue
        for part in requirement.specifier:
            if part.operator == "==":
                return part.version
    for build in matrix.builds_of(matrix.minor(torch.version), platform_of(facts) or ""):
        if build.cuda == torch.cuda and build.version == torch.version.split("+")[0]:
            return dict(build.libraries).get(package.removeprefix("nvidia-"))
    return None


def loaded(facts: Facts, torch: Torch, library: str) -> str | None:
    """Return the version of a library that torch reports; else that of the installed package."""
    reported = _reported(torch, library)
    if reported is None:
        return facts.packages.get(_package(torch, library))
    if library == "cudnn" and reported.isdigit():
        number = int(reported)
        # cuDNN 9 has two digits more: 91002 is 9.10.2, 8902 was 8.9.2.
        thousand = 10000 if number >= 90000 else 1000
        return f"{number // thousand}.{number % thousand // 100}.{number % 100}"
    return reported


def _reported(torch: Torch, library: str) -> str | None:
    return torch.imported.cudnn if library == "cudnn" else torch.imported.nccl


def versions(facts: Facts, torch: Torch) -> Iterator[Finding]:
    """Find cuDNN or NCCL of another version than the build expects: an older one lacks what torch calls."""
    for library, name in (("cudnn", "cuDNN"), ("nccl", "NCCL")):
        wanted, used = pinned(facts, torch, library), loaded(facts, torch, library)
        if wanted is None or used is None or not matrix.number(used):
            continue
        expected, found = matrix.number(wanted)[:3], matrix.number(used)[:3]
        if expected == found:
            continue
        package = _package(torch, library)
        installed = facts.packages.get(package)
        # The right package is installed, so that torch must have found another copy.
        if installed and _reported(torch, library) and matrix.number(installed)[:3] == expected:
            message = (
                f"torch {torch.version} loads {name} {used}, although {package} {installed} is installed"
            )
            yield warning("RT036", message, _UNSET if facts.shadowing else None)
            continue
        message = f"torch {torch.version} was built with {name} {wanted}, but uses {name} {used} here"
        older = found < expected or found[0] != expected[0]
        yield (warning if older else info)(
            "RT036", message, commands.pip(f"install {package}=={wanted}", facts)
        )


def breaks_import(facts: Facts, torch: Torch) -> bool:
    """Whether importing torch fails because ``LD_LIBRARY_PATH`` replaces libraries that torch's own need."""
    broken = re.search(r"undefined symbol: (?!nccl)|version `", torch.imported.detail or "")
    return torch.imported.outcome == "raised" and bool(broken) and bool(set(facts.shadowing) - {STUB})


def shadowed(facts: Facts, torch: Torch, other: bool) -> Iterator[Finding]:
    """Find copies of libraries on ``LD_LIBRARY_PATH``; ``other``: torch uses a library of another version."""
    if STUB in facts.shadowing:
        message = "LD_LIBRARY_PATH contains the folder of CUDA's stubs, whose libcuda cannot start a driver"
        yield (error if facts.driver.init != 0 else warning)("RT037", message, _UNSET)
    copies = [name for name in facts.shadowing if name != STUB]
    if not copies:
        return
    shown = ", ".join(copies[:4]) + (f" and {len(copies) - 4} more" if len(copies) > 4 else "")
    replaces = f"LD_LIBRARY_PATH replaces torch's own libraries with {shown}"
    if breaks_import(facts, torch):
        yield error("RT037", f"importing torch fails ({torch.imported.detail}): {replaces}", _UNSET)
    elif other:
        yield warning("RT037", replaces, _UNSET)
    else:
        message = f"LD_LIBRARY_PATH contains {shown}, which programs may load instead of torch's own"
        yield info("RT037", message)
