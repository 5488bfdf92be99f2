"""A TorchScript file is loaded in an Android app.

Why: `org.pytorch.Module` and `LiteModuleLoader` are PyTorch Mobile, which is no longer supported; they run TorchScript,
deprecated since torch 2.10.

    Module module = LiteModuleLoader.load(assetFilePath(this, "model.ptl"));
    →
    org.pytorch.executorch.Module module = org.pytorch.executorch.Module.load(assetFilePath(this, "model.pte"));

What to do: lower the exported model with ExecuTorch to a `.pte` file (see `torchmigrate explain TS171`), and load it with
`org.pytorch.executorch.Module` of `org.pytorch:executorch-android`. The app and the file have to change together.

Source: https://docs.pytorch.org/executorch/stable/using-executorch-android.html,
https://docs.pytorch.org/executorch/main/javadoc, https://pytorch.org/blog/pytorch-2-10-release-blog/.
"""

from __future__ import annotations

from torchmigrate.api import Rule

from ._linking.loading import ASKS, checked, note

rule = Rule(
    code="ER621",
    foreign=(
        "org.pytorch.Module.load",
        "org.pytorch.LiteModuleLoader.*",
        "org.pytorch.PyTorchAndroid.load*",
    ),
    asks=ASKS,
    message="`{symbol}` loads TorchScript with PyTorch Mobile, which is no longer supported; load a `.pte` file with "
    "`org.pytorch.executorch.Module`",
    deprecated=(2, 10),
    recipe="lower the exported model with ExecuTorch; `org.pytorch:executorch-android` has `Module.load`",
    artifact=True,
)
rule.check_foreign(checked)
rule.note(note)
