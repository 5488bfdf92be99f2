"""A platform that the target's wheels do not run on.

Why: a wheel runs on the glibc or macOS that it is built for, and on newer ones. torch's wheels need glibc 2.28
(`manylinux_2_28`), and macOS 14 from 2.12 on. In an older build image torch cannot be installed, and a wheel that is
tagged for an older system cannot use torch there.

    CIBW_MANYLINUX_X86_64_IMAGE: manylinux2014
    MACOSX_DEPLOYMENT_TARGET: "11.0"

What to do: build in `manylinux_2_28`, and raise the deployment target to the version in the message.

Source: the tags of the published wheels, `torchmigrate/tables/data/wheels_read.json`; https://peps.python.org/pep-0600/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.api import Finding, Rule, Severity, Sort
from torchmigrate.documents.context import ReferenceContext
from torchmigrate.documents.references import Reference

rule = Rule(code="CU542", references=(Sort.VARIABLE,))

_GLIBC = {"manylinux1": "2.5", "manylinux2010": "2.12", "manylinux2014": "2.17"}
"""The glibc versions of the old names, according to PEP 600."""


@rule.check_reference
def check(variable: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    mac = variable.name.lower().replace("_", "-") == "macosx-deployment-target"
    if not mac and "manylinux" not in variable.name.lower():
        return
    from torchmigrate.tables import wheels
    from torchmigrate.tables.matrix import number

    floor = wheels.floor(ctx.options.target, "macosx_arm64" if mac else "linux_x86_64")
    there = variable.text if mac else _glibc(variable.text)
    if floor is None or there is None or not number(there) or number(there) >= number(floor):
        return
    system = "macOS" if mac else "glibc"
    yield ctx.finding(
        variable,
        f"torch {ctx.target} needs {system} {floor} or newer, but this builds for {there}",
        Severity.WARNING,
        span=variable.value.place(0, len(variable.text)),
    )


def _glibc(image: str) -> str | None:
    """Return the glibc of a manylinux image; None if unknown."""
    match = re.search(r"manylinux_(\d+)_(\d+)", image)
    if match:
        return f"{match[1]}.{match[2]}"
    return next((glibc for name, glibc in _GLIBC.items() if name in image), None)
