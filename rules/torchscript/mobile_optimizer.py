"""`optimize_for_mobile` rewrites TorchScript modules for the Lite Interpreter.

Why: the Lite Interpreter has been deprecated since torch 2.10, and nothing else needs this function.

    optimize_for_mobile(traced)
    →
    to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()

What to do: export the model and lower it with ExecuTorch, as `torchmigrate explain TS171` shows. The partitioner selects
the backend (XNNPACK, Vulkan, Core ML).

Fix safety: unsafe, and offered together with the export and the save: see `torchmigrate explain TS171`.

Source: https://docs.pytorch.org/executorch/stable/getting-started.html,
https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/jit/_script.py,
torch/utils/mobile_optimizer.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Rule, Safety, Use

from ._authoring.torchscript_makers import MOBILE_OPTIMIZERS
from ._export.chain_fixes import ASKS, collect_notes, create_mobile_finding

rule = Rule(
    code="TS172",
    symbols=(
        *MOBILE_OPTIMIZERS,
        "torch.utils.mobile_optimizer.*",
        "torch._C._MobileOptimizerType",
        "torch._C._jit_pass_optimize_for_mobile",
        "torch._C._jit_pass_vulkan_*",
        "torch._C._jit_pass_metal_*",
        "torch._C._is_default_mobile_cpu_allocator_set",
        *(f"torch._C._{verb}_default_mobile_cpu_allocator" for verb in ("set", "unset")),
    ),
    message="`{symbol}` optimizes for the Lite Interpreter; export with `torch.export` and lower with ExecuTorch",
    deprecated=(2, 10),
    recipe="`to_edge_transform_and_lower(torch.export.export(model.eval(), (x,)), "
    "partitioner=[XnnpackPartitioner()]).to_executorch()`",
    safety=Safety.UNSAFE,
    asks=ASKS,
    artifact=True,
)
rule.note(collect_notes)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield create_mobile_finding(use, ctx, rule.recipe)
