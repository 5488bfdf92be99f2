"""The Lite Interpreter is deprecated.

Why: since torch 2.10 its save methods warn "Please consider switching to ExecuTorch".

    mobile = optimize_for_mobile(torch.jit.script(model))
    mobile._save_for_lite_interpreter("model.ptl")
    →
    from executorch.exir import to_edge_transform_and_lower
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    exported = torch.export.export(model.eval(), (x,))
    program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()
    with open("model.pte", "wb") as file:
        file.write(program.buffer)

What to do: export the model and lower it with ExecuTorch, a package of its own. Released apps read `.ptl` files with the
old runtime: change the app together with the file.

Source: https://docs.pytorch.org/executorch/stable/getting-started.html,
https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/jit/_script.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Rule, Use
from torchmigrate.semantics.model_files import LITE_METHODS, LITE_OWNERS

from ._export.chain_fixes import find_consumers_hint

rule = Rule(
    code="TS171",
    symbols=(
        *(f"{owner}{method}" for owner in LITE_OWNERS for method in LITE_METHODS),
        "torch.jit.mobile.*",
        "torch.jit.export_opnames",
        *("torch._C._load_for_lite_interpreter*", "torch._C._load_mobile_module_*"),
        *("torch._C._save_mobile_module*", "torch._C._nn_module_to_mobile", "torch._C.LiteScriptModule"),
        *("torch._C._backport_for_mobile*", "torch._C._get_model_bytecode_version*"),
        *("torch._C._get_model_ops_and_info*", "torch._C._export_operator_list", "torch._C._export_opnames"),
        *("torch._C._get_mobile_model_contained_types*", "torch._C._enable_mobile_interface_call_export"),
    ),
    message="`{symbol}` belongs to the Lite Interpreter, deprecated since torch {deprecated}; export with `torch.export` and run "
    "with ExecuTorch",
    deprecated=(2, 10),
    recipe="`to_edge_transform_and_lower(torch.export.export(model.eval(), (x,)), "
    "partitioner=[XnnpackPartitioner()]).to_executorch()`",
    artifact=True,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    hints = [rule.recipe, find_consumers_hint(use, ctx)]
    yield ctx.finding(use, hint="; ".join(hint for hint in hints if hint))
