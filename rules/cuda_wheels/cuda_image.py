"""A CUDA base image whose compiler has another CUDA major than the target's build.

Why: torch's wheels bring their own CUDA libraries, so those of the image do not matter for running, and images without
a compiler are not reported. They matter for compiling: an extension that is built with the image's `nvcc` needs the CUDA
major of torch, else torch.utils.cpp_extension raises an error. It is info in workflows, which often build for several
CUDA versions, and for images in which no torch is known to be installed.

    FROM nvidia/cuda:12.8.1-cudnn-devel-ubuntu24.04
    →
    FROM nvidia/cuda:13.0.0-cudnn-devel-ubuntu24.04

Fix safety: unsafe: the new image has other system packages, and needs a newer driver on the host. It changes together
with everything that is installed on top of it, or not at all. The same fix changes images without a compiler.

Source: torch 2.12 wheel: torch/utils/cpp_extension.py (`CUDA_MISMATCH_MESSAGE`); https://hub.docker.com/r/nvidia/cuda,
with the known tags in `torchmigrate/tables/data/images.json`.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Fix, NoFix, Rule, Safety, Severity, Sort
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import InstallRole, Reference

rule = Rule(code="CU521", references=(Sort.IMAGE,), safety=Safety.UNSAFE)


@rule.check_reference
def check(image: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if image.name != "nvidia/cuda" or image.undecided:
        return
    from torchmigrate.documents import base_images
    from torchmigrate.documents.build_choice import find_nearest_build
    from torchmigrate.tables import build_selection

    match = base_images.CUDA_TAG.match(image.text)
    chosen = find_nearest_build([image.unit.environment], ctx.options)
    if match is None or chosen is None or not chosen.cuda or not base_images.has_compiler(image):
        return
    if match["cuda"].split(".")[0] == chosen.cuda.split(".")[0]:
        return
    likely = image.unit.role is not InstallRole.TEST and _has_known_torch(image)
    yield ctx.finding(
        image,
        f"this image has CUDA {match['cuda']}, but torch {chosen.torch} is built with CUDA {chosen.cuda}"
        "; extensions that are compiled here will not work with it",
        Severity.WARNING if likely else Severity.INFO,
        fix=lambda: _create_fix(image, ctx),
        hint=build_selection.render_driver_note(chosen),
    )


def _has_known_torch(image: Reference) -> bool:
    environment = image.unit.environment
    return bool(environment.find_references(Sort.REQUIREMENT, "torch") or environment.includes)


def _create_fix(image: Reference, ctx: ReferenceContext) -> Fix:
    if not _has_known_torch(image):
        raise NoFix("it is unclear which torch version is installed here")
    return ctx.create_move_fix(image)
