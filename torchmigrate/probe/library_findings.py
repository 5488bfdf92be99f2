"""Findings about the libraries that torch loads: another version than its build expects, or another copy."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.model.findings import Finding
from torchmigrate.probe import install_commands
from torchmigrate.probe.build_fit import find_platform
from torchmigrate.probe.machine_facts import InstalledTorch, MachineFacts
from torchmigrate.probe.wording import create_error, create_info, create_warning
from torchmigrate.tables.torch_builds import find_builds, get_major, get_minor, parse_number

STUB_FOLDER = "stubs/libcuda.so"
"""The entry of `MachineFacts.shadowing` that stands for the folder of CUDA's stubs."""

_UNSET_PATH = "unset LD_LIBRARY_PATH"


def check_libraries(facts: MachineFacts) -> Iterator[Finding]:
    """Find cuDNN and NCCL of another version, and copies of CUDA libraries on ``LD_LIBRARY_PATH``."""
    torch = facts.torch
    if torch is None or torch.cuda is None:
        return
    other = list(compare_library_versions(facts, torch))
    yield from other
    yield from find_shadowed_libraries(facts, torch, bool(other))


def _name_package(torch: InstalledTorch, library: str) -> str:
    """Return the package that provides a library to torch: ``nvidia-cudnn-cu13``."""
    return f"nvidia-{library}-cu{get_major(torch.cuda)}"


def find_pinned_version(facts: MachineFacts, torch: InstalledTorch, library: str) -> str | None:
    """Return the version of a library that torch pins: by its metadata, else by the table's row for its build."""
    package = _name_package(torch, library)
    for line in torch.requires:
        requirement = install_commands.parse_requirement(line)
        if requirement is None or requirement.name != package:
            continue
        for part in requirement.specifier:
            if part.operator == "==":
                return part.version
    for build in find_builds(get_minor(torch.version), find_platform(facts) or ""):
        if build.cuda == torch.cuda and build.version == torch.version.split("+")[0]:
            return dict(build.libraries).get(package.removeprefix("nvidia-"))
    return None


def find_used_version(facts: MachineFacts, torch: InstalledTorch, library: str) -> str | None:
    """Return the version of a library that torch reports; else that of the installed package."""
    reported = _get_reported_version(torch, library)
    if reported is None:
        return facts.packages.get(_name_package(torch, library))
    if library == "cudnn" and reported.isdigit():
        number = int(reported)
        # cuDNN 9 has two digits more: 91002 is 9.10.2, 8902 was 8.9.2.
        thousand = 10000 if number >= 90000 else 1000
        return f"{number // thousand}.{number % thousand // 100}.{number % 100}"
    return reported


def _get_reported_version(torch: InstalledTorch, library: str) -> str | None:
    return torch.imported.cudnn if library == "cudnn" else torch.imported.nccl


def compare_library_versions(facts: MachineFacts, torch: InstalledTorch) -> Iterator[Finding]:
    """Find cuDNN or NCCL of another version than the build expects: an older one lacks what torch calls."""
    for library, name in (("cudnn", "cuDNN"), ("nccl", "NCCL")):
        wanted, used = find_pinned_version(facts, torch, library), find_used_version(facts, torch, library)
        if wanted is None or used is None or not parse_number(used):
            continue
        expected, found = parse_number(wanted)[:3], parse_number(used)[:3]
        if expected == found:
            continue
        package = _name_package(torch, library)
        installed = facts.packages.get(package)
        # The right package is installed, so that torch must have found another copy.
        if installed and _get_reported_version(torch, library) and parse_number(installed)[:3] == expected:
            message = (
                f"torch {torch.version} loads {name} {used}, although {package} {installed} is installed"
            )
            yield create_warning("RT036", message, _UNSET_PATH if facts.shadowing else None)
            continue
        message = f"torch {torch.version} was built with {name} {wanted}, but uses {name} {used} here"
        older = found < expected or found[0] != expected[0]
        yield (create_warning if older else create_info)(
            "RT036", message, install_commands.create_pip_command(f"install {package}=={wanted}", facts)
        )


def is_import_broken(facts: MachineFacts, torch: InstalledTorch) -> bool:
    """Return whether importing torch fails because ``LD_LIBRARY_PATH`` replaces libraries that torch's own need."""
    broken = re.search(r"undefined symbol: (?!nccl)|version `", torch.imported.detail or "")
    return torch.imported.outcome == "raised" and bool(broken) and bool(set(facts.shadowing) - {STUB_FOLDER})


def find_shadowed_libraries(facts: MachineFacts, torch: InstalledTorch, other: bool) -> Iterator[Finding]:
    """Find copies of libraries on ``LD_LIBRARY_PATH``; ``other``: torch uses a library of another version."""
    if STUB_FOLDER in facts.shadowing:
        message = "LD_LIBRARY_PATH contains the folder of CUDA's stubs, whose libcuda cannot start a driver"
        yield (create_error if facts.driver.init != 0 else create_warning)("RT037", message, _UNSET_PATH)
    copies = [name for name in facts.shadowing if name != STUB_FOLDER]
    if not copies:
        return
    shown = ", ".join(copies[:4]) + (f" and {len(copies) - 4} more" if len(copies) > 4 else "")
    replaces = f"LD_LIBRARY_PATH replaces torch's own libraries with {shown}"
    if is_import_broken(facts, torch):
        message = f"importing torch fails ({torch.imported.detail}): {replaces}"
        yield create_error("RT037", message, _UNSET_PATH)
    elif other:
        yield create_warning("RT037", replaces, _UNSET_PATH)
    else:
        message = f"LD_LIBRARY_PATH contains {shown}, which programs may load instead of torch's own"
        yield create_info("RT037", message)
