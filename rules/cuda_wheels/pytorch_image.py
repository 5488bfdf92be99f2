"""An image with an older torch, of PyTorch (`pytorch/pytorch`), RunPod or Cog.

Why: the image brings torch and its CUDA. Requirements that are installed on top (`pip install -r requirements.txt`) keep
the torch of the image as long as it satisfies them.

    FROM pytorch/pytorch:2.10.0-cuda12.8-cudnn9-runtime
    →
    FROM pytorch/pytorch:2.12.1-cuda13.0-cudnn9-runtime

Fix safety: unsafe; it changes the torch, the Python and the system packages of the image. There is a fix where the image
with the target torch is known, and everything that is installed on top of it fits. Newer images have the Python 3.12 of
their system and no conda, and pip installs into them only with `PIP_BREAK_SYSTEM_PACKAGES=1`, which the fix adds.

Images of others (`runpod/pytorch`, `r8.im/cog-base`) are reported without a fix, since their tags have to be looked up.

Source: https://hub.docker.com/r/pytorch/pytorch/tags, with the known tags in `torchmigrate/tables/data/images.json`;
https://github.com/runpod/containers/tree/main/official-templates/pytorch,
https://github.com/replicate/cog/blob/main/docs/base-images.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Fix, NoFix, Rule, Safety, Severity, Sort
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import InstallRole, Reference

rule = Rule(code="CU522", references=(Sort.IMAGE,), safety=Safety.UNSAFE)


@rule.check_reference
def check(image: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    from torchmigrate.documents import base_images
    from torchmigrate.model.torch_versions import parse_version

    torch = base_images.find_image_torch(image)
    if not torch or parse_version(torch) >= ctx.options.target:
        return
    test = image.unit.role is InstallRole.TEST
    yield ctx.finding(
        image,
        f"this image has torch {torch}; the target is {ctx.target}",
        Severity.INFO if test else Severity.ERROR,
        fix=lambda: _create_fix(image, ctx),
        hint=_choose_hint(image, ctx),
    )


def _choose_hint(image: Reference, ctx: ReferenceContext) -> str | None:
    """Return what to do with an image that somebody else publishes; None for PyTorch's own."""
    from torchmigrate.documents.base_images import OTHER_TORCH_IMAGES

    tags = OTHER_TORCH_IMAGES.get(image.name)
    return f"choose a tag with torch {ctx.target} from {tags}" if tags else None


def _create_fix(image: Reference, ctx: ReferenceContext) -> Fix:
    if image.unit.role is InstallRole.TEST:
        raise NoFix("tests often run an older torch on purpose")
    return ctx.create_move_fix(image)
