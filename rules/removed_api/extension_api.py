"""A part of torch's C++ API that was removed or deprecated, in the source of an extension.

Why: the compiler stops at macros, functions and conversions that torch has dropped, and warns of methods that it deprecates.

    AT_CHECK(x.type().is_cuda(), "x must be on a GPU");
    AT_DISPATCH_FLOATING_TYPES(x.type(), "scale", [&] { scale(x.data<scalar_t>(), x.numel()); });
    →
    TORCH_CHECK(x.is_cuda(), "x must be on a GPU");
    AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "scale", [&] { scale(x.data_ptr<scalar_t>(), x.numel()); });

Not reported is what a test of torch's version decides, and macros that the project defines itself.

Fix safety: safe; the new names are for the same functions, and the compiler refuses what is wrong. It is unsafe for `.data<T>()`
of an object that may be no tensor, and for `.options()`, which name the GPU of a tensor.

Source: torch 2.13 wheel: torch/include, against which g++ compiles the examples in `tests/executed/test_extensions.py`; the
versions are those of the releases whose headers have a name or its deprecation: c10/util/Exception.h, ATen/Dispatch.h,
ATen/core/TensorBody.h, ATen/Context.h, THC/THC.h.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Rule, Safety, Severity
from torchmigrate.model.torch_versions import Version, render_version

if TYPE_CHECKING:
    from torchmigrate.foreign.foreign_context import ForeignContext
    from torchmigrate.foreign.foreign_use import ForeignUse


@dataclass(frozen=True, slots=True)
class _Change:
    """The fate of a name, and what to write instead."""

    instead: str
    warns: Version | None = None
    """The first torch whose headers mark it as deprecated."""
    gone: Version | None = None
    """The first torch that does not compile it."""


_TYPE = _Change("ask the tensor itself", warns=(1, 5))
_THC = "use the functions of `at::cuda` and `c10::cuda`"
_CHANGES = {
    "AT_CHECK": _Change("use `TORCH_CHECK`", gone=(1, 5)),
    "AT_WARN": _Change("use `TORCH_WARN`", gone=(1, 5)),
    "AT_INDEX_ERROR": _Change("use `TORCH_CHECK_INDEX(false, …)`", gone=(1, 6)),
    "AT_DISPATCH_ALL_TYPES_AND_HALF": _Change(
        "use `AT_DISPATCH_ALL_TYPES_AND(at::ScalarType::Half, …)`", gone=(2, 6)
    ),
    "AT_DISPATCH_*(….type(), …)": _Change("pass `.scalar_type()`", warns=(1, 5), gone=(2, 6)),
    ".data<T>()": _Change("use `.data_ptr<T>()`", warns=(1, 3)),
    ".packed_accessor<T, N>()": _Change("use `.packed_accessor32` or `.packed_accessor64`", warns=(1, 3)),
    ".is_variable()": _Change("drop it: every tensor is a variable", warns=(1, 5), gone=(2, 14)),
    ".type().is_cuda()": _TYPE,
    ".type().is_sparse()": _TYPE,
    ".type().toString()": _TYPE,
    ".type().scalarType()": _Change("use `.scalar_type()`", warns=(1, 5)),
    ".type().device_type()": _Change("use `.device().type()`", warns=(1, 5)),
    ".type()": _Change("use `.options()`, `.scalar_type()` or `.device()`", warns=(1, 5)),
    "at::IntList": _Change("use `at::IntArrayRef`", warns=(1, 2)),
    "THCudaCheck": _Change("use `AT_CUDA_CHECK`", gone=(1, 11)),
    "THCCeilDiv": _Change("use `at::ceil_div`", gone=(1, 11)),
    "THCState": _Change("drop it: nothing takes the state any more", gone=(1, 11)),
    "THCState_getCurrentStream": _Change("use `at::cuda::getCurrentCUDAStream()`", gone=(1, 11)),
    "THCudaMalloc": _Change("use `c10::cuda::CUDACachingAllocator::raw_alloc`", gone=(1, 11)),
    "THCudaFree": _Change("use `c10::cuda::CUDACachingAllocator::raw_delete`", gone=(1, 11)),
}

rule = Rule(
    code="RM772",
    foreign=(*(name for name in _CHANGES if "*" not in name), "AT_DISPATCH_*", "THC*"),
    safety=Safety.SAFE,
)


@rule.check_foreign
def check(use: ForeignUse, ctx: ForeignContext) -> Iterator[Finding]:
    change = _CHANGES.get(use.name) or _Change(_THC, gone=(1, 11))
    target = ctx.options.target
    is_gone = change.gone is not None and change.gone <= target
    if not is_gone and (change.warns is None or change.warns > target):
        return
    if use.name.startswith("AT_") and ctx.find_text(((f"define {use.name}",), (rf"define\s+{use.name}\b",))):
        return  # the project has a macro of this name for newer releases
    first = change.gone if is_gone else change.warns
    assert first is not None
    state = "does not compile" if is_gone else "is deprecated"
    yield ctx.finding(
        use,
        f"`{{symbol}}` {state} since torch {render_version(first)}; {change.instead}",
        severity=Severity.ERROR if is_gone else Severity.WARNING,
        title=_write_title(change.instead) if use.edits else "Replace it",
    )


def _write_title(instead: str) -> str:
    """Return the first clause of what to use instead, as a title."""
    clause = re.split(r"[;:] ", instead)[0]
    return clause[:1].upper() + clause[1:]
