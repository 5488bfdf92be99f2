"""PyTorch Mobile is required by an Android build.

Why: PyTorch Mobile is no longer supported. `org.pytorch:pytorch_android` and `pytorch_android_lite` end with 2.1.0 and run
TorchScript, deprecated since torch 2.10.

    implementation("org.pytorch:pytorch_android_lite:2.1.0")
    →
    implementation("org.pytorch:executorch-android:<version>")

What to do: use `org.pytorch:executorch-android` with the version of ExecuTorch that writes the `.pte` file. There is no
counterpart of `pytorch_android_torchvision`, whose helpers turn bitmaps into tensors.

Source: https://central.sonatype.com/artifact/org.pytorch/executorch-android,
https://docs.pytorch.org/executorch/stable/using-executorch-android.html,
https://mvnrepository.com/artifact/org.pytorch/pytorch_android_lite, https://pytorch.org/blog/pytorch-2-10-release-blog/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.api import Finding, Rule
from torchmigrate.foreign.foreign_context import ForeignContext
from torchmigrate.foreign.foreign_use import FORKED_PACKAGE, ForeignUse

rule = Rule(
    code="ER613",
    foreign=(
        "org.pytorch:pytorch_*",
        "org.pytorch:torchvision_ops",
        f"{FORKED_PACKAGE}*",
        "library pytorch_jni*",
        "libs.*",
    ),
    message="`{symbol}` is part of PyTorch Mobile, which is no longer supported; use "
    "`org.pytorch:executorch-android`",
    deprecated=(2, 10),
    recipe='use `implementation("org.pytorch:executorch-android:<version>")` with the version of ExecuTorch that writes the `.pte` file',
)

_JVM = "`{symbol}` is part of PyTorch Mobile for JVMs other than Android, which is no longer supported; use AOTInductor"
_ON_SERVERS = "compile with `torch._inductor.aoti_compile_and_package`, and load with `torch::inductor::AOTIModelPackageLoader` through JNI"


@rule.check_foreign
def check(use: ForeignUse, ctx: ForeignContext) -> Iterator[Finding]:
    if not use.name.startswith("libs.") or _is_in_catalog(use.name, ctx):
        if use.name.endswith("_java_only"):
            yield ctx.finding(use, _JVM, hint=_ON_SERVERS)
        else:
            yield ctx.finding(use)


def _is_in_catalog(accessor: str, ctx: ForeignContext) -> bool:
    """Return whether a version catalog of the project defines PyTorch Mobile under the name of a ``libs.…`` accessor."""
    alias = r"[-_.]".join(map(re.escape, accessor.split(".")[1:]))
    entry = rf"(?m)^[ \t]*[\"']?{alias}[\"']?[ \t]*=[^\n]*org\.pytorch\b[^\n]*(?:pytorch_(?:android|jni)|torchvision_ops)"
    return bool(ctx.find_text((("org.pytorch",), (entry,))))
