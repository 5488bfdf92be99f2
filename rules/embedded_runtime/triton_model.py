"""Triton Inference Server runs a TorchScript model.

Why: the platform `pytorch_libtorch` loads TorchScript, deprecated since torch 2.10.

    platform: "pytorch_libtorch"
    →
    platform: "torch_aoti"

What to do: compile the exported model, `torch._inductor.aoti_compile_and_package(exported, package_path="model.pt2")`, replace
`model.pt` by `model.pt2`, and set the platform to `torch_aoti`. This needs a Triton that supports the platform and has the same
torch that compiled the package. There is no finding where the configuration names a `.py` or `.pt2` file.

Source: https://github.com/triton-inference-server/pytorch_backend, https://pytorch.org/blog/pytorch-2-10-release-blog/.
"""

from __future__ import annotations

from torchmigrate.api import Rule

from ._linking.loading import ASKS, checked, note

rule = Rule(
    code="ER641",
    foreign=('platform: "pytorch_libtorch"', 'backend: "pytorch"'),
    asks=ASKS,
    message="`{symbol}` serves TorchScript, deprecated since torch {deprecated}; serve an AOTInductor package with "
    '`platform: "torch_aoti"`',
    since=(2, 6),
    deprecated=(2, 10),
    recipe='in Python, write the package with `torch._inductor.aoti_compile_and_package(torch.export.export(model, args), package_path="model.pt2")`',
    artifact=True,
)
rule.check_foreign(checked)
rule.note(note)
