"""`is_current_stream_capturing` is superseded by `Stream.is_capturing`.

Why: torch 2.12 gives every stream an `is_capturing()` method, the same for CUDA, XPU and accelerators outside of
torch. The functions named after one device stay, but only `Stream.is_capturing` is backend-agnostic.

    if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
    →
    if torch.cuda.is_available() and torch.cuda.current_stream().is_capturing():

With `device-agnostic = true` the fix writes `torch.accelerator.current_stream().is_capturing()`.

Fix safety: safe where the code has made sure that the device exists (`torch.cuda.is_available()` in the same
condition or around it). Elsewhere it is unsafe and adds a guard: the old function returns False before CUDA is
initialized and leaves it so, while `current_stream()` initializes it. The guard `torch.cuda.is_initialized()` keeps
that; but on a build without CUDA the old function raises a RuntimeError, and the guarded call returns False.

A name that tests patch by string (`mock.patch("torch.cuda.is_current_stream_capturing")`) is not rewritten, since
the patch would silently stop working; move both by hand.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/, https://github.com/pytorch/pytorch/pull/171443;
torch 2.12 wheel: torch/_C/__init__.pyi (`Stream.is_capturing`), torch/cuda/graphs.py.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, Rule, Safety
from torchmigrate.rewrite.imports import Spelling

from ._devices.availability import is_certain

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

rule = Rule(
    code="SC201",
    symbols=(
        "torch.cuda.is_current_stream_capturing",
        "torch.cuda.graphs.is_current_stream_capturing",
        "torch.xpu.is_current_stream_capturing",
        "torch.xpu.graphs.is_current_stream_capturing",
        "torch.mtia.is_current_stream_capturing",
        "torch.mtia.mtia_graph.is_current_stream_capturing",
        "torch.get_device_module().is_current_stream_capturing",
        "torch._C._cuda_isCurrentStreamCapturing",
        "torch._C._xpu_isCurrentStreamCapturing",
        "torch._C._mtia_isCurrentStreamCapturing",
    ),
    message="`{symbol}` is superseded by `Stream.is_capturing`, which works on every accelerator",
    since=(2, 12),
    safety=Safety.SAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.kind in (Kind.CALL, Kind.REFERENCE):
        yield ctx.finding(use, fix=lambda: _fix(use, ctx))
    else:
        yield ctx.finding(use, _OTHER.get(use.kind))


_OTHER = {
    Kind.STRING: "this string patches `{symbol}`; code that asks `Stream.is_capturing` does not see it",
    Kind.ASSIGNMENT: "`{symbol}` is replaced here; code that asks `Stream.is_capturing` does not see it",
    Kind.GUARD: "`{symbol}` is asked for; `hasattr(torch.Stream, 'is_capturing')` tells torch 2.12 and newer",
}


def _fix(use: Use, ctx: Context) -> Fix | str:
    if ctx.project.uses(*rule.symbols, kinds=(Kind.STRING, Kind.ASSIGNMENT)):
        return "the project patches the old name, and a patch of it would no longer reach this code"
    device = _device(use, ctx)
    if device is None:
        return "the device module cannot be named here without clobbering a name"
    query = f"{device.text}.current_stream().is_capturing()"
    certain = is_certain(use, ctx)
    if not certain:
        initialized = "is_initialized" if device.text.endswith(("cuda", "xpu", "mtia")) else "is_available"
        query = f"{device.text}.{initialized}() and {query}"
    if use.kind is Kind.REFERENCE:
        query = f"lambda: {query}"
    if query.count(" ") and not _stands_alone(use):
        query = f"({query})"
    safety = Safety.SAFE if certain and use.kind is Kind.CALL else Safety.UNSAFE
    edits = (ctx.replace(use.call or use.node, query), *device.edits)
    return Fix(edits, safety, f"Replace with `{query}`")


def _stands_alone(use: Use) -> bool:
    """Whether an `and` or a `lambda` may stand in the use's place without parentheses."""
    parent = use.parents[-2] if use.call else use.parents[-1]
    return isinstance(parent, (ast.If, ast.While, ast.Return, ast.Assign, ast.Expr, ast.Call, ast.keyword))


def _device(use: Use, ctx: Context) -> Spelling | None:
    """How the device's module is written here."""
    if use.symbol.startswith("torch.get_device_module"):
        return Spelling(ctx.text(use.node.value)) if isinstance(use.node, ast.Attribute) else None
    if ctx.options.device_agnostic:
        return ctx.imports.spell("torch.accelerator", use)
    device = re.search(r"cuda|xpu|mtia", use.symbol)
    return ctx.imports.spell(f"torch.{device[0]}", use) if device else None
