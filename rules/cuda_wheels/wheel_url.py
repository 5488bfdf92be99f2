"""The URL of a wheel, a libtorch archive or a page of PyG's or DGL's wheels for an older torch than the target.

Why: the URL names one version, one build, one Python and one platform. Nothing else in the project affects it, so that
an upgrade misses it.

    torch @ https://download.pytorch.org/whl/cu128/torch-2.10.0%2Bcu128-cp312-cp312-manylinux_2_28_x86_64.whl

What to do: require a version (`torch==2.12.1`), with the index of its build if that is not the default one; or use the
URL of the target's wheel.

The pages of PyG and DGL have one address for each torch and CUDA, `https://data.pyg.org/whl/torch-2.12.0+cu130.html`. They
come some time after a torch, not with all packages (torch-scatter and torch-sparse end with torch 2.12, torch-cluster with 2.11;
pyg-lib has wheels for 2.14), and DGL's end with torch 2.4.

    torch==2.4.0
    pyg-lib==0.4.0+pt24cu121
    --find-links https://data.pyg.org/whl/torch-2.4.0+cu121.html
    →
    torch==2.13.0
    pyg-lib==0.9.0+pt213cu126
    --find-links https://data.pyg.org/whl/torch-2.13.0+cu126.html

Fix safety: unsafe. A page of PyG's, and pins of wheels from it, move with the torch beside them, if there are wheels of each of these
packages for the new torch and CUDA; otherwise the reason names the last torch with wheels.

Source: `torchmigrate/tables/data/page_wheels.json`, https://download.pytorch.org/whl/torch/,
https://pytorch-geometric.readthedocs.io/en/2.8.0/install/installation.html, https://www.dgl.ai/pages/start.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.api import Finding, Rule, Safety, Severity, Sort
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import Reference

rule = Rule(code="CU506", references=(Sort.WHEEL,), safety=Safety.UNSAFE)

_ARCHIVE = re.compile(r"/libtorch/.*-([0-9]+\.[0-9.]+)(?:%2B|\+|\.zip)")
_PAGE = re.compile(r"(?P<site>pyg|pytorch-geometric|dgl)\.\w+/.*/torch-(?P<torch>[0-9]+\.[0-9.]*[0-9])")
_WHEEL = re.compile(r"/(torch|torchvision|torchaudio)-([0-9.]+)[^/]*\.whl")


@rule.check_reference
def check(wheel: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    from torchmigrate.documents import upgrade_rules
    from torchmigrate.model.torch_versions import parse_version

    match = _WHEEL.search(wheel.text)
    archive = _ARCHIVE.search(wheel.text)
    page = _PAGE.search(wheel.text)
    tag = upgrade_rules.find_cuda_tag(wheel)
    if match and match[1] == "torch" and parse_version(match[2]) < ctx.options.target:
        yield ctx.finding(
            wheel, f"this is the wheel of torch {match[2]}; the target is {ctx.target}", Severity.ERROR
        )
    elif archive and parse_version(archive[1]) < ctx.options.target:
        yield ctx.finding(
            wheel,
            f"this is the C++ library of torch {archive[1]}; the target is {ctx.target}",
            Severity.WARNING,
        )
    elif page:
        if parse_version(page["torch"]) < ctx.options.target:
            maker = "DGL" if page["site"] == "dgl" else "PyG"
            beside = wheel.unit.environment.find_references(Sort.REQUIREMENT, *upgrade_rules.TORCH_NAMES)
            yield ctx.finding(
                wheel,
                f"{maker}'s wheels on this page are built for torch {page['torch']}; the target is {ctx.target}",
                Severity.ERROR,
                fix=(lambda: ctx.create_move_fix(wheel)) if beside else None,
                hint=f"use {maker}'s page for torch {ctx.target} and the CUDA of its build if it has these packages, or build them",
            )
    elif tag is not None and (reason := upgrade_rules.explain_missing_build(tag.name, ctx.options)):
        yield ctx.finding(wheel, f"`{tag.name}`: {reason}", Severity.ERROR)
