"""`torch.jit.script_method` is deprecated.

Why: since torch 2.10 it warns "Please switch to `torch.compile` or `torch.export`".

    class Net(torch.jit.ScriptModule):
        @torch.jit.script_method
        def forward(self, x):
    →
    class Net(torch.nn.Module):
        def forward(self, x):

Fix safety: unsafe, and made together with the change of the base class: see `torchmigrate explain TS104`.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/jit/_script.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Safety, Use

from ._authoring.script_classes import ASKS, create_class_fix
from ._authoring.torchscript_makers import METHODS

rule = Rule(
    code="TS107",
    symbols=METHODS,
    message="`{symbol}` has been deprecated since torch {deprecated}; remove it, and derive the class from `torch.nn.Module`",
    since=(2, 0),
    deprecated=(2, 10),
    safety=Safety.UNSAFE,
    asks=ASKS,
    recipe="change what the reason names, then fix again; `torchmigrate explain TS107` lists the differences",
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    kinds = (Kind.DECORATOR, Kind.CALL, Kind.REFERENCE)
    yield ctx.finding(use, fix=(lambda: create_class_fix(ctx)) if use.kind in kinds else None)
