"""`torch.jit.optimize_for_inference` is deprecated.

Why: since torch 2.11 it warns "Please use `torch.compile` instead".

    m = torch.jit.optimize_for_inference(torch.jit.script(model.eval()))
    →
    m = torch.compile(model.eval())

Fix safety: unsafe. Results differ in the last bits, the first call compiles, keys of the state_dict get the prefix
`_orig_mod.` (`model.compile()` compiles in place and keeps them), and the result cannot be saved: export it instead. There
is a fix where the module is scripted or traced in the same scope and the result is only called.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.11 wheel: torch/jit/_freeze.py.
"""

from __future__ import annotations

from torchmigrate.api import Rule, Safety

from ._authoring.torchscript_makers import OPTIMIZES
from ._export.chain_fixes import ASKS, check_member, collect_notes

rule = Rule(
    code="TS122",
    symbols=OPTIMIZES,
    message="`{symbol}` has been deprecated since torch {deprecated}; use `torch.compile(model.eval())`",
    since=(2, 3),
    deprecated=(2, 11),
    safety=Safety.UNSAFE,
    asks=ASKS,
    recipe="change what the reason names, then fix again; `torchmigrate explain TS122` lists the differences",
)
rule.check(check_member)
rule.note(collect_notes)
