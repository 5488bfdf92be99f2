"""torchcomms is switched on, and nothing in the project installs it.

Why: `TORCH_DISTRIBUTED_USE_TORCHCOMMS=1` makes torch.distributed create its process groups with torchcomms, a package
of its own that torch does not require.

    ENV TORCH_DISTRIBUTED_USE_TORCHCOMMS=1

What to do: add `torchcomms` to what is installed there, or take the variable out.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/; torch 2.15 wheel: torch/distributed/config.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Rule, Severity, Sort
from torchmigrate.documents.references import Reference

if TYPE_CHECKING:
    from torchmigrate.documents.context import ReferenceContext

rule = Rule(code="CU514", references=(Sort.VARIABLE,))


@rule.check_reference
def check(variable: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if variable.name != "TORCH_DISTRIBUTED_USE_TORCHCOMMS" or variable.text.lower() not in ("1", "true"):
        return
    if not ctx.project.uses("requirement:torchcomms"):
        yield ctx.finding(
            variable, "torchcomms is switched on, and no file of the project installs it", Severity.WARNING
        )
