"""The finding at a call that loads a model file, with the place where Python code saves that file."""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Use
from torchmigrate.foreign.foreign_context import ForeignContext
from torchmigrate.foreign.foreign_use import FILE_WRITTEN, ForeignUse
from torchmigrate.semantics.model_files import LITE_SAVES, SAVE_METHODS, SAVES, find_file_name

from .package_limits import HOLDS_VALUES, describe_limits

ON_DEVICE = (
    "lower the exported model with ExecuTorch and load the `.pte` file with `executorch::extension::Module`"
)
LINK_EXECUTORCH = (
    "in CMake, link `executorch executorch::backends executorch::extensions executorch::kernels`; in Swift, use "
    '`.package(url: "https://github.com/pytorch/executorch.git", branch: "swiftpm-<version>")`'
)

ASKS = (*SAVES, *SAVE_METHODS, *LITE_SAVES)
"""The symbols that a rule lists in its ``asks`` to use the functions below."""


def check_load(use: ForeignUse, ctx: ForeignContext, message: str | None = None) -> Iterator[Finding]:
    """Yield the finding at a call that loads a model file."""
    text = message or ctx.rule.message
    hint = None
    if ctx.is_on_device and "AOTInductor" in text:
        text, hint = f"{text.partition(';')[0]}; {ON_DEVICE}", LINK_EXECUTORCH
    elif "AOTInductor" in text:
        limits, advice = describe_limits(use, ctx)
        if (limits, advice) == HOLDS_VALUES:  # there is nothing to compile
            text = text.partition(";")[0]
        text, hint = f"{text}; {limits}" if limits else text, advice or None
    written = ctx.find_save(use.file) if use.file else ""
    if written:
        text = f"{text}; `{use.file}` is written at {written}"
    yield ctx.finding(use, text, hint=hint)


def note_save(use: Use, ctx: Context) -> Iterator[tuple[str, tuple[tuple[str, object], ...]]]:
    """Note the name of the model file that a use saves, for the files in other languages that load it."""
    if use.kind is Kind.CALL and (name := find_file_name(use, ctx.uses)):
        yield FILE_WRITTEN, (("name", name),)
