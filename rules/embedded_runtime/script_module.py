"""Types or functions of TorchScript's C++ API are used.

Why: all of the namespace `torch::jit` belongs to TorchScript, which has been deprecated since torch 2.10: modules, methods,
compilation units, graphs and passes. The values and stacks of boxed operators (`c10::IValue`, which is also
`torch::jit::IValue`, and `torch::jit::Stack`) stay, and so does pickling of tensors.

    torch::jit::script::Module module_;
    →
    std::unique_ptr<torch::inductor::AOTIModelPackageLoader> loader_;

What to do: use the replacement of the loaded module, see `torchmigrate explain ER601`; graph passes have a counterpart in Python,
on the graph of `torch.export`.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/, https://docs.pytorch.org/docs/stable/torch.compiler_aot_inductor.html;
torch 2.13 wheel: torch/include/torch/csrc/jit/api/module.h, torch/include/ATen/core/stack.h.
"""

from __future__ import annotations

from torchmigrate.api import Rule

rule = Rule(
    code="ER602",
    foreign=("torch::jit::*",),
    message="`{symbol}` is part of TorchScript, deprecated since torch {deprecated}; use AOTInductor (`torch::inductor::AOTIModelPackageLoader`) or ExecuTorch (`executorch::extension::Module`) instead",
    since=(2, 6),
    deprecated=(2, 10),
)
