"""`ScriptModule` as a base class and `script_method` are deprecated.

Why: since torch 2.10 `script_method` warns "Please switch to `torch.compile` or `torch.export`". The class derives from
`torch.nn.Module`, and its methods are plain; type comments and `__constants__` stay. Both change together:
`script_method` in a plain module leaves a stub that cannot be called.

    class Net(torch.jit.ScriptModule):
        @torch.jit.script_method
        def forward(self, x):
    →
    class Net(torch.nn.Module):
        def forward(self, x):

The state_dict keeps its keys.

Fix safety: unsafe. `.save()`, `.define()`, `.graph` and `.code` of instances are gone (export them instead); code
elsewhere may test `isinstance(m, torch.jit.ScriptModule)`; ints and containers behave as Python's do.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/jit/_script.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.findings import Finding
from torchmigrate.rule import Kind, Rule, Safety

from .authoring import BASES

if TYPE_CHECKING:
    from torchmigrate.context import Context
    from torchmigrate.uses import Use

rule = Rule(
    code="TS104",
    symbols=("torch.jit.script_method", "torch.jit._script.script_method", *BASES),
    message=(
        "`{symbol}` makes a TorchScript module, deprecated since torch 2.10; derive from `torch.nn.Module` and drop "
        "`script_method`"
    ),
    since=(2, 0),
    deprecated=(2, 10),
    safety=Safety.UNSAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.symbol in BASES and use.kind is not Kind.BASE:
        return  # a test or an annotation makes no module
    yield ctx.finding(use)
