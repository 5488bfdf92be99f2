"""A binding of libtorch is used for TorchScript.

Why: the crate `tch`, TorchSharp and gotch bind libtorch, and they stay. But the project
uses them to run TorchScript, deprecated since torch 2.10. There is a finding only where a source in that language loads a
TorchScript file.

    tch = "0.17"

What to do: none of them binds AOTInductor's loader. Call `torch::inductor::AOTIModelPackageLoader` through a small C++ library
of the project's own (in Rust: the crate `cxx`), or move the model to a server process that loads it.

Source: https://docs.rs/tch/latest/tch/struct.CModule.html, https://github.com/dotnet/TorchSharp,
https://github.com/sugarme/gotch, https://pytorch.org/blog/pytorch-2-10-release-blog/.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Rule
from torchmigrate.foreign.foreign_context import ForeignContext
from torchmigrate.foreign.foreign_use import ForeignUse

_MESSAGE = "`{symbol}` is used for TorchScript ({place}), deprecated since torch {deprecated}; AOTInductor's loader `torch::inductor::AOTIModelPackageLoader` needs a binding of your own, since it is available in C++ only"

rule = Rule(
    code="ER615",
    foreign=("crate *", "NuGet *", "module gotch"),
    since=(2, 6),
    deprecated=(2, 10),
)

_LANGUAGES = {"crate": "rust", "NuGet": "csharp", "module": "go"}


@rule.check_foreign
def check(use: ForeignUse, ctx: ForeignContext) -> Iterator[Finding]:
    if place := ctx.find_runtime_call(_LANGUAGES[use.name.partition(" ")[0]]):
        yield ctx.finding(use, _MESSAGE.replace("{place}", place))
