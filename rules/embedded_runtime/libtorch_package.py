"""A build links libtorch for TorchScript.

Why: libtorch itself stays: AOTInductor's packages run on it. But the sources beside this file use it for TorchScript, deprecated
since torch 2.10. There is a finding only where a source of the project below the file's folder calls TorchScript
(anywhere in the project, for a `.cmake` file, which others include).

    find_package(Torch REQUIRED)  # or "libtorch" in vcpkg.json, libtorch/2.4.0 in conanfile.txt, dependency('Torch') in meson.build,
                              # add_requires("libtorch") in xmake.lua
    target_link_libraries(app "${TORCH_LIBRARIES}")

What to do: on servers, keep libtorch, in version 2.6 or newer for `torch::inductor::AOTIModelPackageLoader`. On devices, ExecuTorch:
`target_link_libraries(app executorch executorch::backends executorch::extensions executorch::kernels)`.

Source: https://docs.pytorch.org/docs/stable/torch.compiler_aot_inductor.html, https://docs.pytorch.org/executorch/stable/using-executorch-cpp.html;
torch 2.6 wheel: torch/_inductor/__init__.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Rule
from torchmigrate.foreign.foreign_context import ForeignContext
from torchmigrate.foreign.foreign_use import ForeignUse

_MESSAGE = (
    "libtorch is linked for TorchScript ({place}), deprecated since torch {deprecated}; AOTInductor needs libtorch {since} or "
    "newer, ExecuTorch its own `executorch::` targets"
)

rule = Rule(
    code="ER611",
    foreign=(
        "find_package(Torch)",
        "vcpkg libtorch",
        "Conan libtorch",
        "dependency('Torch')",
        "xmake libtorch",
    ),
    since=(2, 6),
    deprecated=(2, 10),
)


@rule.check_foreign
def check(use: ForeignUse, ctx: ForeignContext) -> Iterator[Finding]:
    is_included = ctx.source.path.endswith(".cmake")  # from wherever
    if place := ctx.find_runtime_call("cpp", below=not is_included):
        yield ctx.finding(use, _MESSAGE.replace("{place}", place))
