"""`LightningModule.to_torchscript` scripts or traces the module.

Why: it calls `torch.jit.script` or `torch.jit.trace`, deprecated since torch 2.10.

    m.to_torchscript("m.pt", method="trace", example_inputs=x)
    →
    torch.export.save(torch.export.export(m.eval(), (x,)), "m.pt2")

What to do: export the module by hand, and set its mode, device and gradients as `to_torchscript` does. For the limits on
sizes and control flow, see `torchmigrate explain TS102`. Only files that import Lightning are reported, as other classes
may have a method of this name.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/,
https://lightning.ai/docs/pytorch/stable/common/lightning_module.html; torch 2.10 wheel: torch/jit/_script.py,
torch/jit/_trace.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Rule

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

rule = Rule(
    code="TS115",
    symbols=(".to_torchscript",),
    message="`to_torchscript` calls `torch.jit.script` or `torch.jit.trace`, deprecated since torch {deprecated}; use "
    "`torch.export.export`",
    deprecated=(2, 10),
    recipe='`torch.export.save(torch.export.export(model.eval(), (x,)), "model.pt2")`',
    artifact=True,
)

_LIGHTNING = re.compile(rb"^\s*(?:import|from)\s+(?:pytorch_)?lightning\b", re.MULTILINE)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if _LIGHTNING.search(ctx.source.text):
        yield ctx.finding(use)
