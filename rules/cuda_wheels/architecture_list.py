"""GPU architectures that the target's CUDA no longer compiles for.

Why: extensions are compiled for the architectures in `TORCH_CUDA_ARCH_LIST`. CUDA 13 removed everything below 7.5
(Maxwell, Pascal, Volta); `nvcc` stops at the first of them. The list applies to the CUDA of the image, the index or the
branch around it: with CUDA 12 nothing is reported, and it is info where the file does not name the CUDA.

    FROM nvidia/cuda:13.0.0-devel-ubuntu24.04
    ENV TORCH_CUDA_ARCH_LIST="7.0;7.5;8.0;9.0+PTX"
    →
    FROM nvidia/cuda:13.0.0-devel-ubuntu24.04
    ENV TORCH_CUDA_ARCH_LIST="7.5;8.0;9.0+PTX"

With an architecture below 7.5 in the setting `gpu-architectures`, the build to use is one with CUDA 12, and nothing is
reported.

Fix safety: safe; there is a fix only where the file itself builds with a CUDA that cannot compile for them.

Source: https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/ (13.0); torch/utils/cpp_extension.py for the names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.api import Finding, Fix, NoFix, Rule, Safety, Severity, Sort
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import IN_DOCUMENTATION, InstallRole, Reference

rule = Rule(code="CU531", references=(Sort.VARIABLE,), safety=Safety.SAFE)


@rule.check_reference
def check(variable: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    from torchmigrate.documents import architecture_lists
    from torchmigrate.tables import build_selection

    chosen = build_selection.choose_build(ctx.options.target, ctx.options.gpu_architectures)
    if (
        chosen is None
        or not chosen.cuda
        or not (gone := architecture_lists.find_unsupported_entries(variable, chosen.cuda))
    ):
        return
    major = chosen.cuda.split(".")[0]
    stated = _find_stated_majors(variable, ctx)
    if stated is None or stated - {major}:
        return  # an older CUDA, which compiles for them, or a branch for an unknown one
    yield ctx.finding(
        variable,
        f"torch {chosen.torch} is built with CUDA {major}, which does not support architectures below "
        f"{build_selection.find_oldest_architecture(chosen.cuda)}: {', '.join(entry.strip() for entry in gone)}",
        Severity.WARNING if stated else Severity.INFO,
        span=variable.value.find_span(0, len(variable.text)),
        fix=lambda: _create_fix(variable, chosen.cuda or "", is_stated=bool(stated)),
    )


def _create_fix(variable: Reference, cuda: str, *, is_stated: bool) -> Fix:
    from torchmigrate.documents import architecture_lists

    if variable.unit.role is InstallRole.DOC:
        raise NoFix(IN_DOCUMENTATION)
    if not is_stated:
        raise NoFix("it is unclear which CUDA version this is built with")
    edit = architecture_lists.create_edit(variable, cuda)
    return Fix((edit,), Safety.SAFE, "Compile only for the architectures that CUDA still supports")


_BRANCH = re.compile(r"^\s*(?:[\w.\"'*| $\-]*\)|(?:el)?if\b|case\b|else\b|fi\b|esac\b|;;)")
_CUDA = re.compile(r"(?:cu(?:da)?[-_]?)?(?<![\d.])(1[0-3])(?:\.\d+|\d(?!\d)|\.?\*)(?:\.\d+)?", re.IGNORECASE)
_REFERENCE = re.compile(r"(?:^|/cu|-cuda|^cu)(1[0-3])")


def _find_stated_majors(variable: Reference, ctx: ReferenceContext) -> set[str] | None:
    """Return the CUDA majors that a variable's environment builds with; None in a branch that does not name its own."""
    if variable.unit.fixed:
        lines = ctx.source.text[: variable.span.start].decode("utf-8", "replace").split("\n")
        for line in reversed(lines):
            if _BRANCH.match(line):
                found = {match[1] for match in _CUDA.finditer(line)}
                return found if len(found) == 1 else None
        return None
    found = set()
    for reference in ctx.references:
        here = reference.unit.environment is variable.unit.environment
        if here and not reference.undecided and reference.sort in (Sort.IMAGE, Sort.INDEX, Sort.VARIABLE):
            is_version = reference.sort is not Sort.VARIABLE or reference.name == "CUDA_VERSION"
            if is_version and (match := _REFERENCE.search(reference.text)):
                found.add(match[1])
    return found
