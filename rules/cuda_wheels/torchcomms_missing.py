"""torchcomms is enabled, but nothing in the project installs it.

Why: with `TORCH_DISTRIBUTED_USE_TORCHCOMMS=1`, torch.distributed creates its process groups with torchcomms, a separate
package that torch does not require.

    ENV TORCH_DISTRIBUTED_USE_TORCHCOMMS=1

What to do: add `torchcomms` to the requirements, or delete the variable.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/; torch 2.15 wheel: torch/distributed/config.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Rule, Severity, Sort
from torchmigrate.documents.context import ReferenceContext
from torchmigrate.documents.references import Reference

rule = Rule(code="CU514", references=(Sort.VARIABLE,))


@rule.check_reference
def check(variable: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    if variable.name != "TORCH_DISTRIBUTED_USE_TORCHCOMMS" or variable.text.lower() not in ("1", "true"):
        return
    if not ctx.project.uses("requirement:torchcomms"):
        yield ctx.finding(
            variable, "torchcomms is enabled, but no file of the project installs it", Severity.WARNING
        )
