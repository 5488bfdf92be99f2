"""LibTorch is required by an iOS build.

Why: the pods and packages `LibTorch` and `LibTorch-Lite` are PyTorch Mobile, which is no longer supported; they run
TorchScript, deprecated since torch 2.10.

    pod 'LibTorch-Lite', '~> 1.13.0'
    →
    .package(url: "https://github.com/pytorch/executorch.git", branch: "swiftpm-<version>")

What to do: use the Swift package of the ExecuTorch that writes the `.pte` file, with the products `executorch`, a backend
(`backend_xnnpack`, `backend_coreml`) and `kernels_optimized`. It needs iOS 17.

Source: https://docs.pytorch.org/executorch/stable/using-executorch-ios.html,
https://docs.pytorch.org/tutorials/recipes/mobile_interpreter.html, https://pytorch.org/blog/pytorch-2-10-release-blog/.
"""

from __future__ import annotations

from torchmigrate.api import Rule
from torchmigrate.foreign.foreign_use import FORKED_POD

rule = Rule(
    code="ER614",
    foreign=("LibTorch*", f"{FORKED_POD}*"),
    message="`{symbol}` is part of PyTorch Mobile, which is no longer supported; use the Swift package of ExecuTorch",
    deprecated=(2, 10),
    recipe='use `.package(url: "https://github.com/pytorch/executorch.git", branch: "swiftpm-<version>")` with the products `executorch`, '
    "`backend_xnnpack` and `kernels_optimized`",
)
