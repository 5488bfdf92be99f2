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
from torchmigrate.semantics.resolve import leaf, string

from ._seen.advice import advise
from ._seen.nodes import body_around, own

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
"""Keywords beside which nothing is left to say; None for a mapping that is not known."""
_SPARSE = re.compile(rb"(?i)sparse")


def _partial(use: Use) -> ast.Call | None:
    """The ``partial(Adagrad, …)`` that a use stands in."""
    around = use.parents[-1]
    made = isinstance(around, ast.Call) and leaf(around.func) == "partial" and around.args[:1] == [use.node]
    return around if made else None  # type: ignore[return-value]


def _names(keyword: ast.keyword, use: Use, ctx: Context) -> list[str | None]:
    """The names that a keyword gives, or those of the mapping that ``**`` spreads, as far as it is written out."""
    spread = keyword.value
    if keyword.arg is None and isinstance(spread, ast.Name) and not _is_changed(spread, use, ctx):
        spread = ctx.uses.flow.definition(spread, use.place.scope) or spread
    if keyword.arg is None and isinstance(spread, ast.Dict):
        return [string(key) if key is not None else None for key in spread.keys]
    if (
        keyword.arg is None
        and isinstance(spread, ast.Call)
        and leaf(spread.func) == "dict"
        and not spread.args
    ):
        return [one.arg for one in spread.keywords]
    return [keyword.arg]


def _is_changed(mapping: ast.Name, use: Use, ctx: Context) -> bool:
    """Whether the function around does anything with a mapping but spread it."""
    read = [one for one in own(body_around(use, ctx)) if isinstance(one, ast.Name) and one.id == mapping.id]
    parents = ctx.uses.flow.parents
    return any(not isinstance(parents.get(one), (ast.keyword, ast.Assign)) for one in read)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call = use.call or _partial(use)
    if call is None or any(
        name in _DECIDED for keyword in call.keywords for name in _names(keyword, use, ctx)
    ):
        return
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    if not starred and not _SPARSE.search(ctx.source.text):
        yield from advise(use, ctx)
