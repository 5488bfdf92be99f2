"""A CUDA base image of another CUDA major than the target's build.

Why: torch's wheels bring their own CUDA libraries, so the image's do not matter for running them. They do for
compiling: an extension that is built in the image with its `nvcc` must have the CUDA major of torch, else
torch.utils.cpp_extension refuses. Images that end in `devel` are therefore a warning, the others info, and so are all
in workflows, which often build for several CUDA versions.

    FROM nvidia/cuda:12.8.1-cudnn-devel-ubuntu22.04
    →
    FROM nvidia/cuda:13.0.0-cudnn-devel-ubuntu22.04

Fix safety: unsafe: the new image has other system packages, and needs a newer driver on the host.

Source: torch 2.12 wheel: torch/utils/cpp_extension.py (`CUDA_MISMATCH_MESSAGE`); https://hub.docker.com/r/nvidia/cuda,
the known tags are in `torchmigrate/tables/data/images.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, NoFix, Rule, Safety, Severity, Sort
from torchmigrate.documents.references import Reference, Role

if TYPE_CHECKING:
    from torchmigrate.documents.context import ReferenceContext

rule = Rule(code="CU521", references=(Sort.IMAGE,), safety=Safety.UNSAFE)

_TAG = re.compile(r"(?P<cuda>\d+\.\d+)(?:\.\d+)?(?P<rest>-[\w.-]+)?")
_FLAVOUR = re.compile(r"-(?P<cudnn>cudnn\d*-)?(?P<flavour>base|runtime|devel)-(?P<system>\w+[\d.]*)")


@rule.check_reference
def check(image: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if image.name != "nvidia/cuda" or image.undecided:
        return
    from torchmigrate.tables import wheels

    match = _TAG.match(image.text)
    chosen = wheels.choose(ctx.options.target, ctx.options.gpu_architectures)
    if match is None or chosen is None or not chosen.cuda:
        return
    if match["cuda"].split(".")[0] == chosen.cuda.split(".")[0]:
        return
    devel = "devel" in image.text
    yield ctx.finding(
        image,
        f"this image has CUDA {match['cuda']}, and torch {chosen.torch} is built with {chosen.cuda}"
        + ("; extensions that are compiled here do not fit it" if devel else ""),
        Severity.WARNING if devel and image.unit.role is not Role.TEST else Severity.INFO,
        fix=lambda: _fix(image, match, chosen.cuda or ""),
        hint=wheels.driver_note(chosen),
    )


def _fix(image: Reference, match: re.Match[str], cuda: str) -> Fix:
    from torchmigrate.tables import wheels

    if reason := image.fixed or image.unit.fixed:
        raise NoFix(reason)
    if image.unit.role is Role.TEST:
        raise NoFix("workflows often build for several CUDA versions")
    if image.several:
        raise NoFix("the file gives several values for the tag")
    rest = _FLAVOUR.fullmatch(match["rest"] or "")
    row = next((row for row in wheels.table("images")["cuda"] if row["cuda"] == cuda), None)
    if rest is None or row is None:
        raise NoFix(f"no image with CUDA {cuda} is known for this tag")
    flavour = ("cudnn-" if rest["cudnn"] else "") + rest["flavour"]
    if flavour not in row["flavours"] or rest["system"] not in row["systems"]:
        raise NoFix(f"no {flavour} image with CUDA {cuda} is known for {rest['system']}")
    new = f"{row['version']}-{flavour}-{rest['system']}"
    edit = image.value.edit(0, len(image.text), new)
    if edit is None:
        start = image.value.edit(0, match.start("rest"), row["version"])
        same = match["rest"] == f"-{flavour}-{rest['system']}"
        if start is None or not same:
            raise NoFix("the tag is put together from several places")
        edit = start
    return Fix((edit,), Safety.UNSAFE, f"Use the image with CUDA {cuda}")
