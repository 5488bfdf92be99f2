"""Swift code runs TorchScript through LibTorch.

Why: Swift reaches LibTorch through a class in Objective-C++, which calls PyTorch Mobile. PyTorch Mobile is no longer supported. There
is a finding where the code creates an instance of a class that an Objective-C++ file of the project implements around
`torch::jit`, and where it imports the LibTorch of a pod or a package.

    let module = TorchModule(fileAtPath: path)
    →
    import ExecuTorch
    let module = Module(filePath: path)

What to do: ExecuTorch has its own Swift API: `Module`, `Tensor` and `Value` of the package
`https://github.com/pytorch/executorch.git`; the bridge is no longer needed.

Source: https://docs.pytorch.org/executorch/stable/using-executorch-ios.html, https://pytorch.org/blog/pytorch-2-10-release-blog/.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Rule
from torchmigrate.foreign.foreign_context import ForeignContext
from torchmigrate.foreign.foreign_use import LIBTORCH_REQUIRED, ForeignUse

from ._linking.file_loads import ASKS, check_load, note_save

_MESSAGE = "`{symbol}` runs TorchScript{place} with PyTorch Mobile, which is no longer supported; ExecuTorch's Swift package has `Module`"

rule = Rule(
    code="ER623",
    foreign=("class *", "import LibTorch*", "import Libtorch*"),
    asks=ASKS,
    deprecated=(2, 10),
    recipe="use `import ExecuTorch` and `Module(filePath: path)` with a `.pte` file",
)
rule.note(note_save)


@rule.check_foreign
def check(use: ForeignUse, ctx: ForeignContext) -> Iterator[Finding]:
    place = ""
    if not use.name.startswith("class "):
        if not ctx.project.find_uses(LIBTORCH_REQUIRED):  # a module of the project's own
            return
    else:
        place = ctx.find_bridge(use.name.removeprefix("class "))
        if not place:
            return
        place = f" ({place})"
    yield from check_load(use, ctx, _MESSAGE.replace("{place}", place))
