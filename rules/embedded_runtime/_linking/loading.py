"""What loads a model file, and where Python writes that file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding

from ...torchscript._export.fixes import ASKS as _ASKS
from ...torchscript._export.fixes import note
from ...torchscript._export.readers import LITE_SAVED, LITE_SAVES, SAVED

if TYPE_CHECKING:
    from torchmigrate.foreign.context import ForeignContext
    from torchmigrate.foreign.use import ForeignUse

__all__ = ["ASKS", "checked", "note"]

ON_DEVICE = (
    "lower the exported model with ExecuTorch and load the `.pte` file with `executorch::extension::Module`"
)
ON_DEVICE_HINT = (
    "CMake: link `executorch executorch::backends executorch::extensions executorch::kernels`; Swift: "
    '`.package(url: "https://github.com/pytorch/executorch.git", branch: "swiftpm-<version>")`'
)

ASKS = (*_ASKS, *LITE_SAVES)
"""What a rule must put into its ``asks`` to call the function below."""


def checked(use: ForeignUse, ctx: ForeignContext, message: str | None = None) -> Iterator[Finding]:
    """The finding at what loads a file, with the place where Python writes it."""
    text = message or ctx.rule.message
    hint = None
    if ctx.is_on_device and "AOTInductor" in text:
        text, hint = f"{text.partition(';')[0]}; {ON_DEVICE}", ON_DEVICE_HINT
    written = ctx.saved(use.file, SAVED, LITE_SAVED) if use.file else ""
    if written:
        text = f"{text}; `{use.file}` is written at {written}"
    yield ctx.finding(use, text, hint=hint)
