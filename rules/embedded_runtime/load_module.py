"""`torch::jit::load` reads TorchScript in C++.

Why: TorchScript has been deprecated since torch 2.10, and the embedded runtime with it. The functions do not warn in C++.

    auto module = torch::jit::load("model.pt");
    auto output = module.forward({input}).toTensor();
    →
    // #include <torch/csrc/inductor/aoti_package/model_package_loader.h>
    torch::inductor::AOTIModelPackageLoader loader("model.pt2");
    auto output = loader.run({input})[0];

What to do: on servers, export the model in Python and compile it ahead of time,
`torch._inductor.aoti_compile_and_package(torch.export.export(model, args), package_path="model.pt2")`; the package is
compiled for the device that it was exported on. On devices, lower it with ExecuTorch to a `.pte` file, which
`executorch::extension::Module` reads (`<executorch/extension/module/module.h>`). Where only the file is left,
`torch._export.converter.TS2EPConverter` (private) converts it. Where Python code of the project writes the file, the finding
says in which line.

A package gives no gradients, and has neither attributes nor extra files, nor methods beside the exported one. Where the source
calls `backward`, `get_method` or `attr`, or loads extra files, the finding says what to do instead; a file that only holds values
is read with `torch::pickle_load`.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/, https://docs.pytorch.org/docs/stable/torch.compiler_aot_inductor.html, https://docs.pytorch.org/executorch/stable/using-executorch-cpp.html; torch 2.6 wheel:
torch/_inductor/__init__.py; torch 2.13 wheel: torch/include/torch/csrc/inductor/aoti_package/model_package_loader.h.
"""

from __future__ import annotations

from torchmigrate.api import Rule

from ._linking.file_loads import ASKS, check_load, note_save

rule = Rule(
    code="ER601",
    foreign=("torch::jit::load", "torch::jit::import_ir_module*"),
    asks=ASKS,
    message="`{symbol}` reads TorchScript, deprecated since torch {deprecated}; compile the exported model with AOTInductor and load "
    "the package with `torch::inductor::AOTIModelPackageLoader`",
    since=(2, 6),
    deprecated=(2, 10),
    recipe='in Python, write the package with `torch._inductor.aoti_compile_and_package(torch.export.export(model, args), package_path="model.pt2")`; '
    "on a device, use ExecuTorch's `executorch::extension::Module`",
    artifact=True,
)
rule.check_foreign(check_load)
rule.note(note_save)
