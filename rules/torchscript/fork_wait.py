"""`torch.jit.fork` and `torch.jit.wait` are deprecated.

Why: since torch 2.11 they warn "Please use `torch.compile` instead". Outside TorchScript, `fork` calls the function at
once, in the same thread.

    future = torch.jit.fork(f, x, k=1)
    y = torch.jit.wait(future)
    →
    future = f(x, k=1)
    y = future

Work that shall run at the same time: `concurrent.futures.ThreadPoolExecutor().submit(f, x)`.

Fix safety: in TorchScript `fork` does run in parallel, so there is no fix while anything in the project scripts or
traces, and it is unsafe until the project says that its users do not either: `keep-torchscript-support = false`. No fix
where the future leaves its scope, or has `.then`, `.done` or `.value` called.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.11 wheel: torch/jit/_async.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Rule, Safety

from ._authoring import inert
from ._futures import futures
from ._script.reach import note

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

_COMPILED = ("torch._C.fork", "torch._C.wait", "torch._C.Future")

rule = Rule(
    code="TS131",
    symbols=(
        *(f"torch.jit.{name}" for name in ("fork", "_fork", "wait", "_wait", "Future")),
        *(
            "torch.jit._async.fork",
            "torch.jit._async.wait",
            *_COMPILED,
        ),
        *(
            "torch._jit_internal.Future",
            "torch._jit_internal._Await",
            "torch.jit._Await",
            "torch.jit._await.*",
        ),
        *("torch.jit._awaitable", "torch.jit._awaitable_nowait", "torch.jit._awaitable_wait"),
        *("torch._C._awaitable", "torch._C._awaitable_nowait", "torch._C._awaitable_wait", "torch._C._Await"),
    ),
    pairs=dict.fromkeys(_COMPILED, ()),
    message=(
        "`{symbol}` is deprecated since torch {deprecated}; outside TorchScript `fork` runs at once in the same thread, so call "
        "the function and use its result"
    ),
    since=(2, 0),
    deprecated=(2, 11),
    safety=Safety.SAFE,
    asks=inert.ASKS,
)


rule.note(note)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, fix=lambda: futures.fix_of(use, ctx))
