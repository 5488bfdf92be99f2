"""Findings about the libraries that torch loads: another version than its build was made with, or another copy."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.model.findings import Finding
from torchmigrate.probe import commands
from torchmigrate.probe.facts import Facts, Torch
from torchmigrate.probe.fit import platform_of
from torchmigrate.probe.saying import error, info, warning
from torchmigrate.tables import matrix


def findings(facts: Facts) -> Iterator[Finding]:
    """cuDNN and NCCL of another version, and copies on ``LD_LIBRARY_PATH``."""
    torch = facts.torch
    if torch is None or torch.cuda is None:
        return
    other = list(versions(facts, torch))
    yield from other
    yield from shadowed(facts, torch, bool(other))


def pinned(facts: Facts, torch: Torch, library: str) -> str | None:
    """The version of a library that torch was made with, by its metadata, else by the table's row for its build."""
    package = f"nvidia-{library}-cu{torch.cuda.split('.')[0]}" if torch.cuda else ""
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
    """The version that torch says it runs with; else that of the installed package."""
    said = {"cudnn": torch.imported.cudnn, "nccl": torch.imported.nccl}[library]
    if said is None:
        return facts.packages.get(f"nvidia-{library}-cu{(torch.cuda or '').split('.')[0]}")
    if library == "cudnn" and said.isdigit():
        number = int(said)
        # cuDNN 9 has two digits more: 91002 is 9.10.2, 8902 was 8.9.2.
        thousand = 10000 if number >= 90000 else 1000
        return f"{number // thousand}.{number % thousand // 100}.{number % 100}"
    return said


def versions(facts: Facts, torch: Torch) -> Iterator[Finding]:
    """cuDNN or NCCL of another version than the build was made with: an older one lacks what torch calls."""
    for library, name in (("cudnn", "cuDNN"), ("nccl", "NCCL")):
        wanted, there = pinned(facts, torch, library), loaded(facts, torch, library)
        if wanted is None or there is None or not matrix.number(there):
            continue
        asked, found = matrix.number(wanted)[:3], matrix.number(there)[:3]
        if asked == found:
            continue
        package = f"nvidia-{library}-cu{(torch.cuda or '').split('.')[0]}"
        message = f"torch {torch.version} was made with {name} {wanted}, and {there} is there"
        elsewhere = torch.imported.cudnn if library == "cudnn" else torch.imported.nccl
        installed = facts.packages.get(package)
        if elsewhere and installed and matrix.number(installed)[:3] == asked:
            # The right package is there, and another copy is loaded.
            message = f"torch {torch.version} loads {name} {there} from elsewhere than {package} {installed}"
            yield warning("RT036", message, "unset LD_LIBRARY_PATH" if facts.shadowing else None)
            continue
        hint = commands.pip(f"install {package}=={wanted}", facts)
        older = found < asked or found[0] != asked[0]
        yield warning("RT036", message, hint) if older else info("RT036", message, hint)


STUB = "stubs/libcuda.so"
"""What `Facts.shadowing` has for the folder of CUDA's stubs."""


def breaks_import(facts: Facts, torch: Torch) -> bool:
    """Whether torch's libraries do not find what they need in those that ``LD_LIBRARY_PATH`` puts in their place."""
    broken = re.search(r"undefined symbol: (?!nccl)|version `", torch.imported.detail or "")
    return torch.imported.outcome == "raised" and bool(broken) and bool(set(facts.shadowing) - {STUB})


def shadowed(facts: Facts, torch: Torch, other: bool) -> Iterator[Finding]:
    """Copies of libraries on ``LD_LIBRARY_PATH``: the cause where something fails, and something to know elsewhere."""
    copies = [name for name in facts.shadowing if name != STUB]
    hint = "unset LD_LIBRARY_PATH"
    if STUB in facts.shadowing:
        message = "LD_LIBRARY_PATH has the folder of CUDA's stubs, whose libcuda starts no driver"
        yield error("RT037", message, hint) if facts.driver.init != 0 else warning("RT037", message, hint)
    if not copies:
        return
    shown = ", ".join(copies[:4]) + (f" and {len(copies) - 4} more" if len(copies) > 4 else "")
    if breaks_import(facts, torch):
        message = f"importing torch fails ({torch.imported.detail}), and LD_LIBRARY_PATH puts {shown} in the place of its own"
        yield error("RT037", message, hint)
    elif other:
        yield warning("RT037", f"LD_LIBRARY_PATH puts {shown} in the place of torch's own", hint)
    else:
        yield info(
            "RT037", f"LD_LIBRARY_PATH has {shown}, which programs may load in the place of torch's own"
        )
