"""A `pytorch/pytorch` image with an older torch.

Why: the image brings torch, and with it the CUDA that it was built with. What is installed on top (`pip install -r
requirements.txt`) keeps the torch of the image as long as it satisfies the requirements.

    FROM pytorch/pytorch:2.10.0-cuda12.8-cudnn9-runtime
    →
    FROM pytorch/pytorch:2.12.1-cuda13.0-cudnn9-runtime

Fix safety: unsafe; it changes the torch, the Python and the system packages of the image. It is made where the image of
the target is known.

Source: https://hub.docker.com/r/pytorch/pytorch/tags, the known tags are in `torchmigrate/tables/data/images.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, NoFix, Rule, Safety, Severity, Sort
from torchmigrate.documents.references import Reference, Role

if TYPE_CHECKING:
    from torchmigrate.documents.context import ReferenceContext

rule = Rule(code="CU522", references=(Sort.IMAGE,), safety=Safety.UNSAFE)

_TAG = re.compile(r"(?P<torch>\d+\.\d+\.\d+)-cuda(?P<cuda>\d+\.\d+)-cudnn\d+-(?P<flavour>runtime|devel)")


@rule.check_reference
def check(image: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if image.name != "pytorch/pytorch" or image.undecided:
        return
    from torchmigrate.model.versions import parse, render

    match = _TAG.fullmatch(image.text)
    if match is None or parse(match["torch"]) >= ctx.options.target:
        return
    test = image.unit.role is Role.TEST
    yield ctx.finding(
        image,
        f"this image has torch {match['torch']}; the target is {render(ctx.options.target)}",
        Severity.INFO if test else Severity.ERROR,
        fix=lambda: _fix(image, match, ctx),
    )


def _fix(image: Reference, match: re.Match[str], ctx: ReferenceContext) -> Fix:
    from torchmigrate.model.versions import render
    from torchmigrate.tables import wheels

    if image.unit.role is Role.TEST:
        raise NoFix("tests often run an older torch on purpose")
    if reason := image.fixed or image.unit.fixed:
        raise NoFix(reason)
    if image.several:
        raise NoFix("the file gives several values for the tag")
    chosen = wheels.choose(ctx.options.target, ctx.options.gpu_architectures)
    for row in wheels.table("images")["pytorch"]:
        fits = chosen is not None and (row["torch"], row["cuda"]) == (chosen.torch, chosen.cuda)
        if fits and match["flavour"] in row["flavours"]:
            new = f"{row['version']}-cuda{row['cuda']}-cudnn{row['cudnn']}-{match['flavour']}"
            edit = image.value.edit(0, len(image.text), new)
            if edit is not None:
                return Fix((edit,), Safety.UNSAFE, f"Use the image of torch {row['version']}")
            raise NoFix("the tag is put together from several places")
    raise NoFix(f"no {match['flavour']} image of torch {render(ctx.options.target)} is known")
