"""A header of torch that was removed, in the source of an extension.

Why: a C++ or CUDA source that includes a header that torch no longer has does not compile. THC, the old library for CUDA, was
removed in torch 1.11.

    #include <THC/THC.h>
    →
    #include <ATen/cuda/CUDAContext.h>

What to do: include the header that declares what the source uses. Not reported are includes that a test of torch's version
decides.

Fix safety: safe. The headers of THC are replaced together with its names, where all of them have a replacement
(`extension-api`).

Source: `torchmigrate/tables/data/lost_headers.json`, which `tools/read_headers.py` reads in the wheels of torch 1.0 to 2.15.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Rule, Safety, Severity
from torchmigrate.model.torch_versions import render_version
from torchmigrate.tables.lost_headers import load_lost_headers

if TYPE_CHECKING:
    from torchmigrate.foreign.foreign_context import ForeignContext
    from torchmigrate.foreign.foreign_use import ForeignUse

rule = Rule(code="RM771", foreign=("include <*",), safety=Safety.SAFE)


@rule.check_foreign
def check(use: ForeignUse, ctx: ForeignContext) -> Iterator[Finding]:
    header = use.name.removeprefix("include ").strip("<>")
    last = load_lost_headers()[header]
    if ctx.options.target <= last:
        return
    new = next((edit.text for edit in use.edits if edit.text), "")
    title = f"Include `{new.partition(chr(10))[0]}`" if new else "Remove the include"
    yield ctx.finding(
        use,
        f"`<{header}>` was removed after torch {render_version(last)}, so that this does not compile",
        severity=Severity.ERROR,
        title=title,
    )
