"""An NGC image with an older torch.

Why: NVIDIA's `nvcr.io/nvidia/pytorch:YY.MM-py3` brings its own build of torch, made some time before the release in its
version (`2.10.0a0`), and pins it for pip. There is a new image every month, and its name has only the month.

    FROM nvcr.io/nvidia/pytorch:25.10-py3

What to do: use an image with the target's torch; the message names it if one is known. There is no fix, since the
images differ in much more than torch.

Source: https://docs.nvidia.com/deeplearning/frameworks/pytorch-release-notes/; the torch of each
image, with its source, is in `torchmigrate/tables/data/images.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.api import Finding, Rule, Severity, Sort
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import InstallRole, Reference

rule = Rule(code="CU523", references=(Sort.IMAGE,))


@rule.check_reference
def check(image: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if image.name != "nvidia/pytorch" or image.undecided:
        return
    from torchmigrate.model.torch_versions import parse_version, render_version
    from torchmigrate.tables import torch_builds

    month = image.text.partition("-")[0]
    rows = {row["release"]: row for row in torch_builds.load_table("images")["ngc"]}
    oldest = min(rows)
    row = rows.get(month)
    if re.fullmatch(r"\d\d\.\d\d", month) and month < oldest:
        has = f"a torch older than {render_version(parse_version(rows[oldest]['torch']))}"
    elif row is None or parse_version(row["torch"]) >= ctx.options.target:
        return
    else:
        has = f"torch {row['torch'].partition('+')[0]}"
    fitting = [r for r, other in rows.items() if parse_version(other["torch"]) == ctx.options.target]
    hint = f"no image with torch {ctx.target} is known"
    if fitting:
        hint = f"use {max(fitting)}, which has torch {ctx.target}"
    test = image.unit.role is InstallRole.TEST
    yield ctx.finding(
        image,
        f"this image has {has}; the target is {ctx.target}",
        Severity.INFO if test else Severity.WARNING,
        hint=hint,
    )
