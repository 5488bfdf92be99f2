"""A third-party package runs TorchScript: DJL's PyTorch engine, or PyTorch Mobile for Flutter or React Native.

Why: the engine of the Deep Java Library loads TorchScript files, and the Flutter plugins and `react-native-pytorch-core` are
built on PyTorch Mobile, which is no longer supported: all run TorchScript, deprecated since torch 2.10. DJL is reported only where
a source of the project loads a model.

    implementation "ai.djl.pytorch:pytorch-engine:0.35.0"
    flutter_pytorch_lite: ^0.1.0
    "react-native-pytorch-core": "^0.2.4"

What to do: DJL has an engine for ONNX Runtime, which runs the files of `torch.onnx.export`. For Flutter, the page of `pytorch_lite`
recommends `executorch_flutter`; for React Native there is `react-native-executorch`. Or call ExecuTorch's own packages for Android and
Apple's systems.

Source: https://docs.djl.ai/docs/pytorch/how_to_convert_your_model_to_torchscript.html,
https://github.com/deepjavalibrary/djl/blob/master/engines/onnxruntime/onnxruntime-engine/README.md,
https://pub.dev/packages/pytorch_lite, https://github.com/facebookresearch/playtorch,
https://docs.swmansion.com/react-native-executorch/docs/fundamentals/getting-started, https://pub.dev/packages/flutter_pytorch_lite, https://docs.pytorch.org/executorch/stable/using-executorch-android.html,
https://pytorch.org/blog/pytorch-2-10-release-blog/.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Finding, Rule
from torchmigrate.foreign.foreign_context import ForeignContext
from torchmigrate.foreign.foreign_use import ForeignUse

_MESSAGE = "`{symbol}` runs TorchScript, deprecated since torch {deprecated}"
_MOBILE = {"Flutter": "executorch_flutter", "npm": "react-native-executorch"}
"""The replacements of packages around PyTorch Mobile, by the kind of package."""
_LOADS = (("ai.djl",), (r"\b(?:Criteria\s*\.|ModelZoo\s*\.\s*loadModel|Model\s*\.\s*newInstance)",))
"""The spellings with which a source loads a model with DJL."""

rule = Rule(
    code="ER616",
    foreign=("ai.djl.pytorch:*", "Flutter *", "npm react-native-pytorch-core"),
    message=_MESSAGE,
    deprecated=(2, 10),
)


@rule.check_foreign
def check(use: ForeignUse, ctx: ForeignContext) -> Iterator[Finding]:
    kind = use.name.partition(" ")[0]
    if kind in _MOBILE:
        yield ctx.finding(
            use,
            f"{_MESSAGE}, with PyTorch Mobile, which is no longer supported",
            hint=f"use `{_MOBILE[kind]}`, or ExecuTorch's own packages for Android and Apple platforms",
        )
        return
    if place := ctx.find_text(_LOADS):
        yield ctx.finding(
            use,
            f"{_MESSAGE}; {place} loads a model",
            hint="use `ai.djl.onnxruntime:onnxruntime-engine` with a model from `torch.onnx.export`",
        )
