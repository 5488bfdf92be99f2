"""Classes of PyTorch Mobile are used in an Android app.

Why: `org.pytorch.IValue`, `Tensor`, `Module` and the helpers of `org.pytorch.torchvision` are PyTorch Mobile, which is no longer
supported.

    Tensor output = module.forward(IValue.from(input)).toTensor();
    →
    Tensor output = module.forward(EValue.from(input))[0].toTensor();

What to do: use `EValue`, `Tensor` and `Module` of `org.pytorch.executorch`; `forward` takes and returns several values.

Source: https://docs.pytorch.org/executorch/stable/using-executorch-android.html,
https://docs.pytorch.org/executorch/main/javadoc, https://pytorch.org/blog/pytorch-2-10-release-blog/.
"""

from __future__ import annotations

from torchmigrate.api import Rule

_CLASSES = """
    DType Device IValue LiteModuleLoader LiteNativePeer MemoryFormat Module NativePeer PyTorchAndroid PyTorchCodegenLoader
    Tensor torchvision
""".split()  # noqa: SIM905 -- a list of names is read as one

rule = Rule(
    code="ER622",
    foreign=(
        *(f"org.pytorch.{name}" for name in _CLASSES),
        *(f"org.pytorch.{name}.*" for name in _CLASSES),
        "import org.pytorch.*",
    ),
    message="`{symbol}` is part of PyTorch Mobile, which is no longer supported; `org.pytorch.executorch` has `Module`, `EValue` and `Tensor`",
    deprecated=(2, 10),
)
