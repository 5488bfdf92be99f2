"""`ScriptModule` as a base class is deprecated.

Why: TorchScript has been deprecated since torch 2.10, and `script_method` warns. Derive the class from `torch.nn.Module`, and make
its methods plain; type comments and `__constants__` can stay. Change both together: `script_method` in a plain module
leaves a stub that cannot be called.

    class Net(torch.jit.ScriptModule):
        @torch.jit.script_method
        def forward(self, x):
    →
    class Net(torch.nn.Module):
        def forward(self, x):

The state_dict keeps its keys.

Fix safety: unsafe. Instances no longer have `.save()`, `.define()`, `.graph` and `.code` (export them instead); other code
may test `isinstance(m, torch.jit.ScriptModule)`; ints and containers behave as in Python. There is no fix where another
file derives from the class or uses such methods of its instances, where a function returns an instance and the project
saves TorchScript, and where the project traces and a method has loops or branches, which a trace keeps only while they
are scripted.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/jit/_script.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Safety, Use

from ._authoring.script_classes import ASKS, create_class_fix
from ._authoring.torchscript_makers import BASES

rule = Rule(
    code="TS104",
    symbols=BASES,
    kinds=frozenset({Kind.BASE}),
    message="`{symbol}` is the base of a TorchScript module, deprecated since torch {deprecated}; derive from `torch.nn.Module`",
    since=(2, 0),
    deprecated=(2, 10),
    safety=Safety.UNSAFE,
    asks=ASKS,
    recipe="change what the reason names, then fix again; `torchmigrate explain TS104` lists the differences",
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, fix=lambda: create_class_fix(ctx))
