"""TorchScript's headers.

Why: `torch/script.h` and `torch/csrc/jit/` declare TorchScript's C++ API, deprecated since torch 2.10.

    #include <torch/script.h>
    →
    #include <torch/csrc/inductor/aoti_package/model_package_loader.h>

What to do: take the header of what replaces the runtime (see `torchmigrate explain ER601`). A source that only registers operators
or classes needs `<torch/library.h>` or `<torch/custom_class.h>`; one that only works with tensors, `<torch/torch.h>`.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/, https://docs.pytorch.org/docs/stable/torch.compiler_aot_inductor.html;
torch 2.13 wheel: torch/include/torch/script.h, torch/include/torch/library.h.
"""

from __future__ import annotations

from torchmigrate.api import Rule

rule = Rule(
    code="ER605",
    foreign=("<torch/script.h>", "<torch/csrc/jit/*"),
    message="`{symbol}` declares TorchScript, deprecated since torch {deprecated}; AOTInductor's loader is in "
    "`<torch/csrc/inductor/aoti_package/model_package_loader.h>`, the registration of operators in `<torch/library.h>`",
    since=(2, 6),
    deprecated=(2, 10),
)
