"""A setting of the flight recorder that is named after NCCL, although the recorder works for every backend.

Why: the recorder began inside the NCCL backend, hence the names of its variables. Since torch 2.12 it also records gloo,
ncclx and torchcomms, and reads the names `TORCH_FR_…` first; it still reads the old ones.

    os.environ["TORCH_NCCL_TRACE_BUFFER_SIZE"] = "2000"
    →
    os.environ["TORCH_FR_BUFFER_SIZE"] = "2000"

Variables in images, scripts, workflows and `.env` files are reported too, and those in commands inside strings.

Needs: torch 2.12 for the other backends.

Brings: for a hang on gloo or torchcomms, the same record of collectives as on NCCL.

When not: older releases have to read the variable; they know only the old names. Tests are not reported.

Measure: `torchfrtrace FOLDER`, or `python -m torch.distributed.flight_recorder.fr_trace FOLDER`, compares the records of all
ranks. It is part of torch since 2.10: the wheels of 2.6 to 2.9 have the command without the module that it runs.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/; torch 2.6 to 2.10 wheels:
entry_points.txt, torch/distributed/flight_recorder/fr_trace.py; torch 2.13 wheel: torch/lib/libtorch_cpu.so (the names of the
variables); torch 2.15 wheel: torch/distributed/distributed_c10d.py (`_maybe_attach_flight_recorder`).
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Severity, Sort, Use
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import Reference
from torchmigrate.model.torch_versions import render_version

from ._analyses.advice_findings import create_advice

_NEW = {
    "TORCH_NCCL_TRACE_BUFFER_SIZE": "TORCH_FR_BUFFER_SIZE",
    "TORCH_NCCL_TRACE_CPP_STACK": "TORCH_FR_CPP_STACK",
    "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": "TORCH_FR_DUMP_TEMP_FILE",
}

_SINCE = (2, 12)
_MESSAGE = "`{symbol}` is the name for NCCL only; set `{new}`, which works for every backend"

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
        yield from create_advice(use, ctx, _MESSAGE.replace("{new}", new))


@rule.check_reference
def check_variable(variable: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    new = _NEW.get(variable.name)
    if new is None or new.encode() in ctx.source.text or ctx.options.target < _SINCE:
        return
    message = _MESSAGE.format(symbol=variable.name, new=new)
    message += f" (torch {render_version(_SINCE)} and newer)"
    yield ctx.finding(variable, message, Severity.INFO, span=ctx.find_name_span(variable))
