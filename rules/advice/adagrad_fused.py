r"""`Adagrad` without `fused`, which torch 2.12 supports on CUDA too.

Why: `fused=True` runs the whole step as one kernel. Adam, AdamW and SGD supported it on CUDA before; Adagrad supported it on
CPUs only, and supports it on CUDA since torch 2.12. The default is the `foreach` implementation on CUDA, and a loop over the
parameters on a CPU.

    torch.optim.Adagrad(model.parameters(), lr=0.01)
    →
    torch.optim.Adagrad(model.parameters(), lr=0.01, fused=True)

Needs: torch 2.12 (2.4 on a CPU).

Brings: fewer kernel launches and less memory traffic in each step, according to the release blog, which gives no figure.

When not: gradients are sparse (`nn.Embedding(sparse=True)`) or complex, the step has to be differentiable, or results have
to be equal to the last bit. Files that mention sparse gradients are not reported, and tests are not either.

Measure: this, and again without `fused`:

    python -m timeit -s "import torch; p = [torch.randn(256, 256, device='cuda', requires_grad=True) for _ in range(200)]" \
        -s "o = torch.optim.Adagrad(p, fused=True); [setattr(x, 'grad', torch.randn_like(x)) for x in p]" \
        "o.step(); torch.cuda.synchronize()"

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/; torch 2.11 and 2.12 wheels: torch/optim/adagrad.py
(`_device_dtype_check_for_fused`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use

from ._analyses.advice_findings import create_advice
from ._analyses.enclosing_nodes import find_partial
from ._analyses.optimizer_calls import is_decided

rule = Rule(
    code="AD903",
    symbols=("torch.optim.Adagrad", "torch.optim.adagrad.Adagrad"),
    message="with `fused=True`, `{symbol}` runs the whole step in one kernel",
    since=(2, 12),
    default=False,
    kinds=frozenset({Kind.CALL, Kind.REFERENCE}),
)

_SPARSE = re.compile(rb"(?i)sparse")


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call = use.call or find_partial(use)
    if call is not None and not is_decided(call, use, ctx) and not _SPARSE.search(ctx.source.text):
        yield from create_advice(use, ctx)
