r"""`Adagrad` without `fused`, which torch 2.12 has for CUDA too.

Why: `fused=True` makes one kernel of the whole step. Adam, AdamW and SGD had it on CUDA before; for Adagrad it was there
for CPUs only, and is for CUDA since torch 2.12. The default is the `foreach` implementation on CUDA, and a loop over the
parameters on a CPU.

    torch.optim.Adagrad(model.parameters(), lr=0.01)
    →
    torch.optim.Adagrad(model.parameters(), lr=0.01, fused=True)

Needs: torch 2.12 (2.4 on a CPU).

Brings: fewer launches and less memory traffic in each step, as the release blog says; it names no figure.

When not: gradients are sparse (`nn.Embedding(sparse=True)`) or complex, the step has to be differentiable, or results have
to be equal to the last bit. Files that make sparse gradients are left alone, and tests.

Measure: this, and again without `fused`:

    python -m timeit -s "import torch; p = [torch.randn(256, 256, device='cuda', requires_grad=True) for _ in range(200)]" \
        -s "o = torch.optim.Adagrad(p, fused=True); [setattr(x, 'grad', torch.randn_like(x)) for x in p]" \
        "o.step(); torch.cuda.synchronize()"

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/; torch 2.11 and 2.12 wheels: torch/optim/adagrad.py
(`_device_dtype_check_for_fused`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule
from torchmigrate.semantics.resolve import leaf

from ._seen.advice import advise

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

rule = Rule(
    code="AD903",
    symbols=("torch.optim.Adagrad", "torch.optim.adagrad.Adagrad"),
    message="`{symbol}` can take the whole step in one kernel: `fused=True`",
    since=(2, 12),
    default=False,
    kinds=frozenset({Kind.CALL, Kind.REFERENCE}),
)

_DECIDED = frozenset({None, "fused", "foreach", "differentiable"})
_SPARSE = re.compile(rb"(?i)sparse")


def _partial(use: Use) -> ast.Call | None:
    """The ``partial(Adagrad, …)`` that a use stands in."""
    around = use.parents[-1]
    made = isinstance(around, ast.Call) and leaf(around.func) == "partial" and around.args[:1] == [use.node]
    return around if made else None  # type: ignore[return-value]


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call = use.call or _partial(use)
    if call is None or any(keyword.arg in _DECIDED for keyword in call.keywords):
        return
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    if not starred and not _SPARSE.search(ctx.source.text):
        yield from advise(use, ctx)
