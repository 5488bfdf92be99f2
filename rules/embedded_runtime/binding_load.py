"""A TorchScript file is loaded through a binding of libtorch.

Why: the bindings' loaders read TorchScript, deprecated since torch 2.10: `tch::CModule` in Rust, `torch.jit.load` of TorchSharp in
C#, `ts.ModuleLoad` of gotch in Go.

    let model = tch::CModule::load("model.pt")?;

What to do: compile the exported model with `torch._inductor.aoti_compile_and_package`, and call
`torch::inductor::AOTIModelPackageLoader` through a small C++ library of the project's own (in Rust: the crate `cxx`).

Source: https://docs.rs/tch/latest/tch/struct.CModule.html, https://github.com/dotnet/TorchSharp,
https://github.com/sugarme/gotch, https://docs.pytorch.org/docs/stable/torch.compiler_aot_inductor.html.
"""

from __future__ import annotations

from torchmigrate.api import Rule

from ._linking.file_loads import ASKS, check_load, note_save

rule = Rule(
    code="ER631",
    foreign=(
        "tch::CModule*",
        "tch::TrainableCModule*",
        "tch::IValue*",
        "tch::jit*",
        "torch_sys::atm_*",
        "torch_sys::CModule_*",
        "TorchSharp.torch.jit.*",
        "gotch/ts.ModuleLoad*",
        "gotch/ts.CModule*",
        "gotch/nn.TrainableCModule*",
    ),
    asks=ASKS,
    message="`{symbol}` runs TorchScript, deprecated since torch {deprecated}; AOTInductor's loader `torch::inductor::AOTIModelPackageLoader` needs a binding of your own, since it is available in C++ only",
    since=(2, 6),
    deprecated=(2, 10),
    recipe='in Python, write the package with `torch._inductor.aoti_compile_and_package(torch.export.export(model, args), package_path="model.pt2")`',
    artifact=True,
)
rule.check_foreign(check_load)
rule.note(note_save)
