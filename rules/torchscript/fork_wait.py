"""`torch.jit.fork` and `torch.jit.wait` are deprecated.

Why: since torch 2.11 they warn "Please use `torch.compile` instead". Outside TorchScript, `fork` calls the function at
once, in the same thread.

    future = torch.jit.fork(f, x, k=1)
    y = torch.jit.wait(future)
    →
    future = f(x, k=1)
    y = future

To run work in parallel, use `concurrent.futures.ThreadPoolExecutor().submit(f, x)`.

Fix safety: TorchScript does run `fork` in parallel. There is no fix while anything in the project scripts or traces, and
the fix is unsafe until the project says that its users do not either: `keep-torchscript-support = false`. There is no fix
where the future leaves its scope, or its `.then`, `.done` or `.value` is called.

Source: https://pytorch.org/blog/pytorch-2-10-release-blog/; torch 2.11 wheel: torch/jit/_async.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Rule, Safety, Use

from ._authoring import inert_markers
from ._futures import future_flow
from ._script.script_reach import note_reach

_AWAITS = ("_awaitable", "_awaitable_nowait", "_awaitable_wait", "_Await")
_COMPILED = ("torch._C.fork", "torch._C.wait")

rule = Rule(
    code="TS131",
    symbols=(
        *(f"torch.jit.{name}" for name in ("fork", "_fork", "wait", "_wait", "Future")),
        *("torch.jit._async.fork", "torch.jit._async.wait", *_COMPILED),
        *("torch._jit_internal.Future", "torch._jit_internal._Await", "torch.jit._await.*"),
        *(f"torch.{module}.{name}" for module in ("jit", "_C") for name in _AWAITS),
    ),
    pairs=dict.fromkeys(_COMPILED, ()),
    message="`{symbol}` has been deprecated since torch {deprecated}; outside TorchScript `fork` calls the function at once, so call "
    "it directly and use its result",
    since=(2, 0),
    deprecated=(2, 11),
    safety=Safety.SAFE,
    asks=inert_markers.ASKS,
    recipe="call the function directly and use its result, or submit it to a `concurrent.futures.ThreadPoolExecutor`",
)
rule.note(note_reach)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    yield ctx.finding(use, fix=lambda: future_flow.create_future_fix(use, ctx))
