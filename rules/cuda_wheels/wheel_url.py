"""The URL of a wheel or a libtorch archive of an older torch than the target.

Why: the URL names one version, one build, one Python and one platform. Nothing else in the project affects it, so that
an upgrade misses it.

    torch @ https://download.pytorch.org/whl/cu128/torch-2.10.0%2Bcu128-cp312-cp312-manylinux_2_28_x86_64.whl

What to do: require a version (`torch==2.12.1`), with the index of its build if that is not the default one; or use the
URL of the target's wheel.

Source: https://download.pytorch.org/whl/torch/
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.api import Finding, Rule, Severity, Sort
from torchmigrate.documents.context import ReferenceContext
from torchmigrate.documents.references import Reference

rule = Rule(code="CU506", references=(Sort.WHEEL,))

_ARCHIVE = re.compile(r"/libtorch/.*-([0-9]+\.[0-9.]+)(?:%2B|\+|\.zip)")
_WHEEL = re.compile(r"/(torch|torchvision|torchaudio)-([0-9.]+)[^/]*\.whl")


@rule.check_reference
def check(wheel: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    from torchmigrate.documents import upgrade
    from torchmigrate.model.versions import parse

    match = _WHEEL.search(wheel.text)
    archive = _ARCHIVE.search(wheel.text)
    tag = upgrade.tag_of(wheel)
    if match and match[1] == "torch" and parse(match[2]) < ctx.options.target:
        yield ctx.finding(
            wheel, f"this is the wheel of torch {match[2]}; the target is {ctx.target}", Severity.ERROR
        )
    elif archive and parse(archive[1]) < ctx.options.target:
        yield ctx.finding(
            wheel,
            f"this is the C++ library of torch {archive[1]}; the target is {ctx.target}",
            Severity.WARNING,
        )
    elif tag is not None and (reason := upgrade.lacks(tag.name, ctx.options)):
        yield ctx.finding(wheel, f"`{tag.name}`: {reason}", Severity.ERROR)
