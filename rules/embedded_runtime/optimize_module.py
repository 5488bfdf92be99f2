"""TorchScript is frozen or optimized in C++.

Why: they optimize a TorchScript graph, deprecated since torch 2.10. AOTInductor freezes the weights,
fuses and tunes by itself when it compiles the package.

    module = torch::jit::freeze(module);
    module = torch::jit::optimize_for_inference(module);
    →
    // nothing: aoti_compile_and_package has done it

What to do: remove the calls together with the load (see `torchmigrate explain ER601`).

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/, https://docs.pytorch.org/docs/stable/torch.compiler_aot_inductor.html;
torch 2.13 wheel: torch/include/torch/csrc/jit/api/module.h.
"""

from __future__ import annotations

from torchmigrate.api import Rule

rule = Rule(
    code="ER604",
    foreign=(
        "torch::jit::freeze*",
        "torch::jit::optimize_for_inference",
        "torch::jit::setGraphExecutorOptimize",
        "torch::jit::getGraphExecutorOptimize",
        "torch::jit::setTensorExprFuserEnabled",
        "torch::jit::GraphOptimizerEnabledGuard",
        "torch::jit::FusionStrategy",
        "torch::jit::FusionBehavior*",
        "torch::jit::setFusionStrategy",
        "torch::jit::getProfilingMode",
        "torch::jit::getExecutorMode",
        "torch::jit::getBailoutDepth",
        "torch::jit::getNumProfiledRuns",
    ),
    message="`{symbol}` optimizes TorchScript, deprecated since torch {deprecated}; drop the call: AOTInductor optimizes when it compiles the exported model",
    since=(2, 6),
    deprecated=(2, 10),
)
