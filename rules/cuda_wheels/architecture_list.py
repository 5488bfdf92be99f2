"""Architectures that the target's CUDA does not compile for any more.

Why: `TORCH_CUDA_ARCH_LIST` says what extensions are compiled for. CUDA 13 removed everything below 7.5 (Maxwell,
Pascal, Volta); `nvcc` stops at the first of them.

    ENV TORCH_CUDA_ARCH_LIST="7.0;7.5;8.0;9.0+PTX"
    →
    ENV TORCH_CUDA_ARCH_LIST="7.5;8.0;9.0+PTX"

With an architecture below 7.5 in `gpu-architectures`, the build to take is one of CUDA 12, and nothing is reported.

Fix safety: safe where the same file uses an image or an index of CUDA 13; else unsafe, as the file may be built with
CUDA 12 too.

Source: https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/ (13.0); torch/utils/cpp_extension.py for the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, NoFix, Rule, Safety, Severity, Sort
from torchmigrate.documents.references import Reference

if TYPE_CHECKING:
    from torchmigrate.documents.context import ReferenceContext

rule = Rule(code="CU531", references=(Sort.VARIABLE,), safety=Safety.SAFE)

_NAMED = {"Kepler": "3.5", "Maxwell": "5.0", "Pascal": "6.0", "Volta": "7.0"}
_ENTRY = re.compile(r"(?P<name>\d+\.\d+|[A-Z][a-z]+(?:\+Te[a-z]+)?)(?P<suffix>[af]?(?:\+PTX)?)")


@rule.check_reference
def check(variable: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if variable.name != "TORCH_CUDA_ARCH_LIST" or variable.undecided:
        return
    from torchmigrate.tables import wheels
    from torchmigrate.tables.matrix import number

    chosen = wheels.choose(ctx.options.target, ctx.options.gpu_architectures)
    if chosen is None or not chosen.cuda:
        return
    oldest = number(wheels.oldest_architecture(chosen.cuda))
    separator = ";" if ";" in variable.text else "," if "," in variable.text else " "
    entries = variable.text.split(separator)
    gone = [entry for entry in entries if (known := _capability(entry)) and number(known) < oldest]
    if not gone:
        return
    major = chosen.cuda.split(".")[0]
    yield ctx.finding(
        variable,
        f"CUDA {major}, which torch {chosen.torch} is built with, compiles for nothing below "
        f"{'.'.join(map(str, oldest))}: {', '.join(entry.strip() for entry in gone)}",
        Severity.WARNING,
        span=variable.value.place(0, len(variable.text)),
        fix=lambda: _fix(variable, separator.join(e for e in entries if e not in gone), ctx, major),
    )


def _capability(entry: str) -> str | None:
    match = _ENTRY.fullmatch(entry.strip())
    if match is None:
        return None
    name = match["name"].partition("+")[0]
    return name if name[0].isdigit() else _NAMED.get(name)


def _fix(variable: Reference, rest: str, ctx: ReferenceContext, major: str) -> Fix:
    if not rest.strip():
        raise NoFix("nothing would be left of the list")
    if variable.several:
        raise NoFix("the file gives several values")
    edit = variable.value.edit(0, len(variable.text), rest.strip())
    if edit is None:
        raise NoFix("the list is put together from several places")
    safety = Safety.SAFE if _states_cuda(ctx, major) else Safety.UNSAFE
    return Fix((edit,), safety, "Compile for the architectures that are left")


def _states_cuda(ctx: ReferenceContext, major: str) -> bool:
    """Whether the file itself builds with this CUDA, and with no other."""
    found = {
        match[1]
        for reference in ctx.references
        if reference.sort in (Sort.IMAGE, Sort.INDEX) and not reference.undecided
        if (match := re.search(r"(?:^|/cu|-cuda)(\d\d)", reference.text))
    }
    return found == {major}
