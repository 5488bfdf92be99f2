"""A `pytorch/pytorch` image with an older torch.

Why: the image brings torch and its CUDA. Requirements that are installed on top (`pip install -r requirements.txt`) keep
the torch of the image as long as it satisfies them.

    FROM pytorch/pytorch:2.10.0-cuda12.8-cudnn9-runtime
    →
    FROM pytorch/pytorch:2.12.1-cuda13.0-cudnn9-runtime

Fix safety: unsafe; it changes the torch, the Python and the system packages of the image. There is a fix where the image
with the target torch is known, and everything that is installed on top of it fits. Newer images have the Python 3.12 of
their system and no conda, and pip installs into them only with `PIP_BREAK_SYSTEM_PACKAGES=1`, which the fix adds.

Source: https://hub.docker.com/r/pytorch/pytorch/tags, with the known tags in `torchmigrate/tables/data/images.json`.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Fix, NoFix, Rule, Safety, Severity, Sort
from torchmigrate.documents.context import ReferenceContext
from torchmigrate.documents.references import Reference, Role

rule = Rule(code="CU522", references=(Sort.IMAGE,), safety=Safety.UNSAFE)


@rule.check_reference
def check(image: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if image.name != "pytorch/pytorch" or image.undecided:
        return
    from torchmigrate.documents import images
    from torchmigrate.model.versions import parse

    match = images.TORCH_TAG.fullmatch(image.text)
    if match is None or parse(match["torch"]) >= ctx.options.target:
        return
    test = image.unit.role is Role.TEST
    yield ctx.finding(
        image,
        f"this image has torch {match['torch']}; the target is {ctx.target}",
        Severity.INFO if test else Severity.ERROR,
        fix=lambda: _fix(image, ctx),
    )


def _fix(image: Reference, ctx: ReferenceContext) -> Fix:
    if image.unit.role is Role.TEST:
        raise NoFix("tests often run an older torch on purpose")
    return ctx.move(image)
