"""The Lite Interpreter is deprecated.

Why: since torch 2.10 its save methods warn "Please consider switching to ExecuTorch".

    mobile = optimize_for_mobile(torch.jit.script(model))
    mobile._save_for_lite_interpreter("model.ptl")
    →
    from executorch.exir import to_edge_transform_and_lower
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner

    exported = torch.export.export(model.eval(), (x,))
    mobile = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()
    mobile.save("model.pte")

What to do: export the model and lower it with ExecuTorch, a package of its own (`pip install executorch`). Released apps read
`.ptl` files with the old runtime: change the app together with the file.

Fix safety: unsafe, and offered where a model is traced, or scripted with example inputs in sight, and only saved for
phones; with `--export-unread-files`, where nothing in the tree reads the file.
- ExecuTorch plans the memory for the sizes of the example: other sizes, such as more rows, raise.
- The app has to load the new file with ExecuTorch's runtime.

Source: https://docs.pytorch.org/executorch/stable/getting-started.html,
https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.10 wheel: torch/jit/_script.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Rule, Safety, Use
from torchmigrate.semantics.model_files import LITE_METHODS, LITE_OWNERS

from ._export.chain_fixes import ASKS, collect_notes, create_mobile_finding, find_consumers_hint

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
    safety=Safety.UNSAFE,
    asks=ASKS,
    artifact=True,
)
rule.note(collect_notes)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    hints = [rule.recipe, find_consumers_hint(use, ctx)]
    yield create_mobile_finding(use, ctx, "; ".join(hint for hint in hints if hint))
