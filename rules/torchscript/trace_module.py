"""`torch.jit.trace_module` is deprecated.

Why: since torch 2.10 it warns (under the name `trace_method`): "Please switch to `torch.compile` or `torch.export`".
An exported program has one entry; give each method a module of its own.

    t = torch.jit.trace_module(m, {"forward": x, "encode": x})
    →
    class Encode(torch.nn.Module):
        def __init__(self, m):
            super().__init__()
            self.m = m
        def forward(self, x):
            return self.m.encode(x)

    forward = torch.export.export(m, (x,))
    encode = torch.export.export(Encode(m), (x,))

Fix safety: unsafe. Where only `forward` is traced, the call becomes an export as in `torchmigrate explain TS102`, with the
same limits. Split several methods by hand: callers of one object get several programs, each of which is saved with its
own copy of the weights.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/jit/_trace.py.
"""

from __future__ import annotations

from torchmigrate.api import Rule, Safety

from ._authoring.torchscript_makers import TRACE_MODULES
from ._export.chain_fixes import ASKS, check_member, collect_notes

rule = Rule(
    code="TS103",
    symbols=TRACE_MODULES,
    message="`{symbol}` has been deprecated since torch {deprecated}; export each method through a module whose forward calls it",
    since=(2, 3),
    deprecated=(2, 10),
    safety=Safety.UNSAFE,
    asks=ASKS,
    recipe="change what the reason names, then fix again; `torchmigrate explain TS103` lists the differences",
)
rule.check(check_member)
rule.note(collect_notes)
