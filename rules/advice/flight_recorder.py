"""A switch of the flight recorder that is named after NCCL, though the recorder is for every backend.

Why: the recorder began inside the NCCL backend, and its switches are named so. It records gloo, ncclx and what runs through
torchcomms as well since torch 2.12, and reads the names `TORCH_FR_…` first; the old ones are still read.

    os.environ["TORCH_NCCL_TRACE_BUFFER_SIZE"] = "2000"
    →
    os.environ["TORCH_FR_BUFFER_SIZE"] = "2000"

What images, scripts, workflows and `.env` files set is looked at too, and what commands in strings do.

Needs: torch 2.12 for the other backends.

Brings: the same record of collectives for a hang on gloo or torchcomms as for one on NCCL.

When not: older releases read the variable too; they know the old names alone. Tests are left alone.

Measure: `python -m torch.distributed.flight_recorder.fr_trace FOLDER` shows what was recorded.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/; torch 2.13 wheel: torch/lib/libtorch_cpu.so (the names of the
variables); torch 2.15 wheel: torch/distributed/distributed_c10d.py (`_maybe_attach_flight_recorder`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule, Severity, Sort
from torchmigrate.model.versions import render

from ._seen.advice import advise

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.documents.context import ReferenceContext
    from torchmigrate.documents.references import Reference

_NEW = {
    "TORCH_NCCL_TRACE_BUFFER_SIZE": "TORCH_FR_BUFFER_SIZE",
    "TORCH_NCCL_TRACE_CPP_STACK": "TORCH_FR_CPP_STACK",
    "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": "TORCH_FR_DUMP_TEMP_FILE",
}

_SINCE = (2, 12)
_MESSAGE = "`{symbol}` has the name `{new}` on every backend"

rule = Rule(
    code="AD931",
    symbols=tuple(f"${name}" for name in _NEW),
    references=(Sort.VARIABLE,),
    since=_SINCE,
    default=False,
    kinds=frozenset({Kind.STRING}),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    new = _NEW[use.name]
    if new.encode() not in ctx.source.text:
        yield from advise(use, ctx, _MESSAGE.replace("{new}", new))


@rule.check_reference
def check_reference(variable: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    new = _NEW.get(variable.name)
    if new is None or new.encode() in ctx.source.text or ctx.options.target < _SINCE:
        return
    message = _MESSAGE.format(symbol=variable.name, new=new)
    message += f" (torch {render(_SINCE)} and newer)"
    yield ctx.finding(variable, message, Severity.INFO, span=ctx.named(variable))
