"""An archive of libtorch is downloaded for TorchScript.

Why: the project uses libtorch for TorchScript, deprecated since torch 2.10; its replacement on servers needs another version.
There is a finding only where a source of the project calls TorchScript. `CU506` reports archives that are older than the target.

    wget https://download.pytorch.org/libtorch/cpu/libtorch-shared-with-deps-2.1.0%2Bcpu.zip

What to do: download libtorch 2.6 or newer for `torch::inductor::AOTIModelPackageLoader`, in the version of the torch that
compiles the packages; on devices, use ExecuTorch instead of libtorch.

Source: https://docs.pytorch.org/docs/stable/torch.compiler_aot_inductor.html,
https://download.pytorch.org/libtorch/; torch 2.6 wheel: torch/_inductor/__init__.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Rule
from torchmigrate.foreign.foreign_context import ForeignContext
from torchmigrate.foreign.foreign_use import ForeignUse

_MESSAGE = (
    "{what} is downloaded for TorchScript ({place}), deprecated since torch {deprecated}; AOTInductor's packages need libtorch "
    "{since} or newer"
)

rule = Rule(
    code="ER612",
    foreign=("libtorch.zip",),
    since=(2, 6),
    deprecated=(2, 10),
)


@rule.check_foreign
def check(use: ForeignUse, ctx: ForeignContext) -> Iterator[Finding]:
    if place := ctx.find_runtime_call("cpp", "rust", "csharp", "go"):
        what = f"libtorch {use.version}" if use.version else "libtorch"
        yield ctx.finding(use, _MESSAGE.replace("{what}", what).replace("{place}", place))
