"""Findings about packages with compiled code that is bound to one torch, or to one CUDA."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from torchmigrate.model.findings import Finding
from torchmigrate.probe import commands
from torchmigrate.probe.facts import Extension, Facts, Torch
from torchmigrate.probe.fit import best
from torchmigrate.probe.saying import error, info, warning
from torchmigrate.tables import matrix


def findings(facts: Facts, torch: Torch) -> Iterator[Finding]:
    """What each extension was built for, against the torch that is there; of several reasons the first."""
    wrong = {e.distribution: e for e in for_other_cuda(facts, torch)}
    yield from runtime(facts, torch, wrong.values())
    refused = [name for name, line in facts.requires.items() if not accepts(line, torch, facts)]
    by_name = {e.distribution: e for e in reversed(facts.extensions)}
    for name in (*refused, *(name for name in by_name if name not in refused)):
        if name in commands.COMPANIONS:
            continue
        if name in refused:
            yield refusing(facts, torch, name, name in by_name)
        elif name in wrong and not is_for_other_torch(torch, wrong[name]):
            yield other_cuda(facts, torch, wrong[name])
        else:
            yield from other_torch(facts, torch, by_name[name])


def accepts(line: str, torch: Torch, facts: Facts) -> bool:
    """Whether a requirement allows the installed torch; true where its version is not known."""
    return not matrix.number(torch.version) or commands.accepts(line, torch.version, facts)


def runtime_missing(torch: Torch) -> str | None:
    """The CUDA major of the runtime library that an import could not find."""
    found = re.search(r"libcudart\.so\.(\d+)", torch.imported.detail or "")
    return found[1] if found else None


def for_other_cuda(facts: Facts, torch: Torch) -> list[Extension]:
    """The extensions that have no library for torch's CUDA major.

    One with libraries for several majors loads the one that it finds the runtime of, or none with a CPU build.
    """
    major = torch.cuda.split(".")[0] if torch.cuda else None
    majors: dict[str, list[Extension]] = {}
    for extension in facts.extensions:
        majors.setdefault(extension.distribution, []).append(extension)
    return [
        found[-1]
        for found in majors.values()
        if not any(e.cuda in (None, major) for e in found) and not (major is None and len(found) > 1)
    ]


def runtime(facts: Facts, torch: Torch, wrong: Iterable[Extension]) -> Iterator[Finding]:
    """Importing torch does not find a CUDA runtime, and no extension is the cause."""
    major = torch.cuda.split(".")[0] if torch.cuda else None
    missing = runtime_missing(torch)
    if missing and (missing == major or not any(e.cuda == missing for e in wrong)):
        yield error(
            "RT007",
            f"importing torch {torch.version} fails: libcudart.so.{missing} is missing",
            commands.reinstall(facts).best(facts),
        )


def refusing(facts: Facts, torch: Torch, project: str, compiled: bool) -> Finding:
    """A package whose metadata refuses the installed torch."""
    name = " ".join(filter(None, (project, facts.packages.get(project))))
    say = error if compiled else warning
    message = f"{name} requires {facts.requires[project]}; installed is torch {torch.version}"
    return say("RT008", message, commands.pip(f"install {project} torch=={torch.version}", facts))


def other_cuda(facts: Facts, torch: Torch, extension: Extension) -> Finding:
    """A compiled extension for another CUDA major than torch's."""
    brings = f"brings CUDA {torch.cuda.split('.')[0]}" if torch.cuda else "is a CPU build"
    # With a CPU build a package may still do what it does on a CPU, unless all of it is bound to torch's C++ code.
    say = error if torch.cuda or extension.linked else warning
    return say(
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


def is_for_other_torch(torch: Torch, extension: Extension) -> bool:
    """Whether it says that it was built for another torch: one of its CUDA would not run it either."""
    other_abi = None not in (extension.new_abi, torch.new_abi) and extension.new_abi != torch.new_abi
    return other_abi or extension.torch not in (None, matrix.minor(torch.version))


def other_torch(facts: Facts, torch: Torch, extension: Extension) -> Iterator[Finding]:
    """A library that calls what the installed torch does not have, or that was built for another one."""
    name, minor = f"{extension.distribution} {extension.version}", matrix.minor(torch.version)
    abis = (extension.new_abi, torch.new_abi)
    other_abi = None not in abis and abis[0] != abis[1]
    made_for = f"for torch {extension.torch}" if extension.torch and extension.torch != minor else ""
    if other_abi:
        words = ("old", "new") if torch.new_abi else ("new", "old")
        made_for += (
            f"{' and ' if made_for else ''}with the {words[0]} C++ ABI, where torch has the {words[1]}"
        )
    why = f": it was built {made_for}" if made_for else ""
    hint = commands.rebuild(extension.distribution, facts)
    if extension.missing:
        lacking = f"{name} calls what torch {torch.version} does not have ({extension.missing[0]}){why}"
        yield error("RT041", lacking, hint)
    elif other_abi:
        yield error("RT041", f"{name} was built {made_for}; installed is torch {torch.version}", hint)
    elif made_for and not extension.linked:
        yield warning("RT041", f"{name} was built {made_for}; installed is torch {torch.version}", hint)
    elif made_for:
        yield info("RT041", f"{name} was built {made_for}; torch {torch.version} has all that its code calls")
