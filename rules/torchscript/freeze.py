"""`torch.jit.freeze` is deprecated.

Why: since torch 2.11 it warns "Please use `torch.compile` instead". A frozen trace of a model in eval mode becomes an
export, which needs no freezing.

    m = torch.jit.freeze(torch.jit.trace(model.eval(), x))
    →
    m = torch.export.export(model.eval(), (x,)).module()

To fold constants into compiled code, set `torch._inductor.config.freezing = True` before `torch.compile`.

Fix safety: unsafe. A frozen module has no parameters left, an exported one keeps its state_dict. Freezing folds batch
norms, which changes the last bits; export does not. There is no fix with `preserved_attrs`, which have no replacement, and
where the frozen module is not traced in the same scope. See `torchmigrate explain TS102` for the limits of the export.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.11 wheel: torch/jit/_freeze.py.
"""

from __future__ import annotations

from torchmigrate.api import Rule, Safety

from ._authoring.torchscript_makers import FREEZES
from ._export.chain_fixes import ASKS, check_member, collect_notes

rule = Rule(
    code="TS121",
    symbols=(*FREEZES, "torch._C._freeze_module"),
    message="`{symbol}` has been deprecated since torch {deprecated}; `torch.export` of a model in eval mode needs no freezing, and "
    "`torch.compile` has `torch._inductor.config.freezing`",
    since=(2, 3),
    deprecated=(2, 11),
    safety=Safety.UNSAFE,
    asks=ASKS,
    recipe="change what the reason names, then fix again; `torchmigrate explain TS121` lists the differences",
)
rule.check(check_member)
rule.note(collect_notes)
