"""The Lite Interpreter is used in C++ or Objective-C++.

Why: PyTorch Mobile runs on it. PyTorch Mobile is no longer supported, its last packages are of torch 2.1, and its save
methods in Python are deprecated since torch 2.10.

    #import <LibTorch-Lite/LibTorch-Lite.h>
    auto module = torch::jit::_load_for_mobile("model.ptl");
    auto output = module.forward({input}).toTensor();
    →
    #import <executorch/extension/module/module.h>
    executorch::extension::Module module("model.pte");
    const auto output = module.forward(input)->at(0).toTensor();

What to do: export the model, lower it with ExecuTorch to a `.pte` file (see `torchmigrate explain TS171`), and link ExecuTorch:
the targets `executorch`, `executorch::backends`, `executorch::extensions` and `executorch::kernels` in CMake, the package
`https://github.com/pytorch/executorch.git` (branch `swiftpm-<version>`) in Swift.

Source: https://docs.pytorch.org/executorch/stable/using-executorch-cpp.html,
https://docs.pytorch.org/executorch/stable/using-executorch-ios.html,
https://docs.pytorch.org/tutorials/recipes/mobile_interpreter.html, https://pytorch.org/blog/pytorch-2-10-release-blog/.
"""

from __future__ import annotations

from torchmigrate.api import Rule
from torchmigrate.foreign.foreign_use import FORKED_HEADER

from ._linking.file_loads import ASKS, LINK_EXECUTORCH, check_load, note_save

rule = Rule(
    code="ER603",
    foreign=(
        "torch::jit::_load_for_mobile",
        "torch::jit::_load_extra_only_for_mobile",
        "torch::jit::load_mobile_module_from_file",
        "torch::jit::parse_and_initialize_mobile_module*",
        "torch::jit::mobile::*",
        "torch::jit::mobile",
        "<torch/csrc/jit/mobile/*",
        "<LibTorch*",
        "<Libtorch*",
        "<libtorch*",
        f"{FORKED_HEADER}*",
    ),
    asks=ASKS,
    message="`{symbol}` is part of PyTorch Mobile, which is no longer supported; lower the exported model with ExecuTorch and load the "
    "`.pte` file with `executorch::extension::Module`",
    deprecated=(2, 10),
    recipe=LINK_EXECUTORCH,
    artifact=True,
)
rule.check_foreign(check_load)
rule.note(note_save)
