"""A Python that the target torch has no wheels for.

Why: each release of torch ends support for the oldest Python: 2.9 needs 3.10, and 2.15 needs 3.11. A resolver that must
find one set of versions for all Pythons of a project (uv, Poetry) fails, and pip on the old Python takes an old torch.

    requires-python = ">=3.9"
    →
    requires-python = ">=3.11"

It is an error where the file's own lower bound on torch leaves nothing that the old Python could take, or in the image
that a Dockerfile starts from; else info: a library may well support old Pythons with an old torch.

Fix safety: unsafe; who still uses the old Python loses the package.

Source: the metadata of the published wheels, `torchmigrate/tables/data/wheels_read.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, NoFix, Rule, Safety, Severity, Sort
from torchmigrate.documents.references import Reference

if TYPE_CHECKING:
    from torchmigrate.documents.context import ReferenceContext

rule = Rule(code="CU541", references=(Sort.PYTHON,), safety=Safety.UNSAFE)

_LOWER = re.compile(r"(?P<operator>>=|~=|\^|==|=|~)?[ \t]*(?P<version>3\.\d+)(?P<rest>\.\d+|\.\*)?")


@rule.check_reference
def check(python: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    from torchmigrate.documents.specifiers import lowest
    from torchmigrate.model.versions import render
    from torchmigrate.tables import wheels
    from torchmigrate.tables.matrix import number

    found = _LOWER.match(python.text.strip())
    range_ = wheels.python_range(ctx.options.target)
    torches = [r for r in ctx.references if r.sort is Sort.REQUIREMENT and r.name in ("torch", "pytorch")]
    if found is None or range_ is None or not torches or number(found["version"]) >= number(range_[0]):
        return
    if python.option != "FROM" and found["operator"] is None:
        return
    bounds = [lowest(torch) for torch in torches]
    known = [bound for bound in bounds if bound is not None]
    needed = wheels.python_range(min(known)) if known else None
    impossible = needed is not None and number(needed[0]) > number(found["version"])
    start = python.text.index(found["version"])
    yield ctx.finding(
        python,
        f"torch {render(ctx.options.target)} has wheels for Python {range_[0]} to {range_[1]}, not for {found['version']}",
        Severity.ERROR if impossible or python.option == "FROM" else Severity.INFO,
        fix=lambda: _fix(python, start, start + len(found["version"] + (found["rest"] or "")), range_[0]),
    )


def _fix(python: Reference, start: int, end: int, oldest: str) -> Fix:
    edit = python.value.edit(start, end, oldest)
    if edit is None or python.several:
        raise NoFix("the version is put together from several places")
    return Fix((edit,), Safety.UNSAFE, f"Ask for Python {oldest}")
