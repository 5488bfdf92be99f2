"""Types or functions of TorchScript's C++ API are used.

Why: all of the namespace `torch::jit` belongs to TorchScript, which has been deprecated since torch 2.10: modules, methods,
compilation units, graphs and passes. The values and stacks of boxed operators (`c10::IValue`, which is also
`torch::jit::IValue`, and `torch::jit::Stack`) stay, and so does pickling of tensors.

    torch::jit::script::Module module_;
    →
    std::unique_ptr<torch::inductor::AOTIModelPackageLoader> loader_;

What to do: use the replacement of the loaded module, see `torchmigrate explain ER601`; graph passes have a counterpart in Python,
on the graph of `torch.export`. A source that gets its module from another one is told here what a package cannot do for it: give
gradients, call methods by name, or hold attributes.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/, https://docs.pytorch.org/docs/stable/torch.compiler_aot_inductor.html;
torch 2.13 wheel: torch/include/torch/csrc/jit/api/module.h, torch/include/ATen/core/stack.h.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Rule
from torchmigrate.foreign.foreign_context import ForeignContext
from torchmigrate.foreign.foreign_use import ForeignUse

from ._linking.file_loads import LINK_EXECUTORCH, ON_DEVICE
from ._linking.package_limits import HOLDS_VALUES, describe_limits

rule = Rule(
    code="ER602",
    foreign=("torch::jit::*",),
    message="`{symbol}` is part of TorchScript, deprecated since torch {deprecated}; use AOTInductor (`torch::inductor::AOTIModelPackageLoader`) or ExecuTorch (`executorch::extension::Module`) instead",
    since=(2, 6),
    deprecated=(2, 10),
)


@rule.check_foreign
def check(use: ForeignUse, ctx: ForeignContext) -> Iterator[Finding]:
    if ctx.is_on_device:
        yield ctx.finding(use, f"{rule.message.partition(';')[0]}; {ON_DEVICE}", hint=LINK_EXECUTORCH)
        return
    limits, advice = describe_limits(use, ctx)
    comes_from_elsewhere = "torch::jit::Module" in ctx.names and "torch::jit::load" not in ctx.names
    if limits and comes_from_elsewhere and (limits, advice) != HOLDS_VALUES:
        yield ctx.finding(use, f"{rule.message}; {limits}", hint=advice)
    else:
        yield ctx.finding(use)
