"""PyTorch Mobile in an Android build.

Why: PyTorch Mobile is no longer supported. `org.pytorch:pytorch_android` and `pytorch_android_lite` end with 2.1.0 and run
TorchScript, deprecated since torch 2.10.

    implementation("org.pytorch:pytorch_android_lite:2.1.0")
    →
    implementation("org.pytorch:executorch-android:<version>")

What to do: take `org.pytorch:executorch-android` of the ExecuTorch that makes the `.pte` file; there is no counterpart of
`pytorch_android_torchvision`, whose helpers turn bitmaps into tensors.

Source: https://central.sonatype.com/artifact/org.pytorch/executorch-android,
https://docs.pytorch.org/executorch/stable/using-executorch-android.html,
https://mvnrepository.com/artifact/org.pytorch/pytorch_android_lite, https://pytorch.org/blog/pytorch-2-10-release-blog/.
"""

from __future__ import annotations

from torchmigrate.api import Rule

rule = Rule(
    code="ER613",
    foreign=("org.pytorch:pytorch_*", "org.pytorch:torchvision_ops", "library pytorch_jni*"),
    message="`{symbol}` is PyTorch Mobile, which is no longer supported; use "
    "`org.pytorch:executorch-android`",
    deprecated=(2, 10),
    recipe='`implementation("org.pytorch:executorch-android:<version>")`, of the ExecuTorch that makes the `.pte` file',
)
