"""A Python that the target torch has no wheels for.

Why: releases of torch drop the oldest Python: 2.9 needs 3.10, and 2.15 needs 3.11. A resolver that has to find versions
for all Pythons of a project (uv, Poetry) fails, and pip on the old Python installs an old torch.

    requires-python = ">=3.9"

It is an error if the file's own lower bound on torch excludes every torch for the old Python, or for the base image of a
Dockerfile; else it is info, since a library may support old Pythons with an old torch.

What to do: in an image or an environment, use one of the Pythons in the message, with pins for that Python. A library
can keep its bound: raising it drops the users on the old Python.

Source: the metadata of the published wheels, `torchmigrate/tables/data/wheels_read.json`.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Rule, Severity, Sort
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import Reference

rule = Rule(code="CU541", references=(Sort.PYTHON,))


@rule.check_reference
def check(python: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    from torchmigrate.documents import python_versions
    from torchmigrate.documents.version_clauses import find_lowest_minor
    from torchmigrate.tables import build_selection

    range_ = build_selection.find_python_range(ctx.options.target)
    asked = python_versions.parse_minors(python)
    if range_ is None or not asked or python.option in ("command", "setup", "kernel"):
        return
    if python.option == "FROM" and not python_versions.find_image_python(python.text)[1]:
        return
    torches = [r for r in ctx.references if r.sort is Sort.REQUIREMENT and r.name in ("torch", "pytorch")]
    oldest = f"3.{min(asked)}"
    if not torches or min(asked) >= int(range_[0][2:]) or python.name == "python_abi":
        return
    bounds = [find_lowest_minor(torch) for torch in torches]
    known = [bound for bound in bounds if bound is not None]
    needed = build_selection.find_python_range(min(known)) if known else None
    impossible = needed is not None and int(needed[0][2:]) > min(asked)
    start = python.text.find(oldest)
    yield ctx.finding(
        python,
        f"torch {ctx.target} has wheels for Python {range_[0]} to {range_[1]}, not for {oldest}",
        Severity.ERROR if impossible or python.option == "FROM" else Severity.INFO,
        span=python.value.find_span(start, start + len(oldest))
        if python.option == "FROM" and start >= 0
        else None,
    )
