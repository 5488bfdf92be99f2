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

import ast
import re
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.semantics.name_resolution import last_name, string_value

from ._analyses.advice_findings import create_advice
from ._analyses.enclosing_nodes import enclosing_body, find_partial, walk_body

rule = Rule(
    code="AD903",
    symbols=("torch.optim.Adagrad", "torch.optim.adagrad.Adagrad"),
    message="with `fused=True`, `{symbol}` runs the whole step in one kernel",
    since=(2, 12),
    default=False,
    kinds=frozenset({Kind.CALL, Kind.REFERENCE}),
)

_DECIDED = frozenset({None, "fused", "foreach", "differentiable"})
"""Keywords that decide the implementation; None is a mapping whose keys are unknown."""
_SPARSE = re.compile(rb"(?i)sparse")


def _keyword_names(keyword: ast.keyword, use: Use, ctx: Context) -> list[str | None]:
    """Return the name of a keyword, or the keys of the mapping that ``**`` unpacks, if the file spells it out."""
    unpacked = keyword.value
    if keyword.arg is not None:
        return [keyword.arg]
    if isinstance(unpacked, ast.Name) and not _is_otherwise_used(unpacked, use, ctx):
        unpacked = ctx.uses.data_flow.find_definition(unpacked, use.place.scope) or unpacked
    if isinstance(unpacked, ast.Dict):
        return [string_value(key) if key is not None else None for key in unpacked.keys]
    if isinstance(unpacked, ast.Call) and last_name(unpacked.func) == "dict" and not unpacked.args:
        return [one.arg for one in unpacked.keywords]
    return [None]


def _is_otherwise_used(mapping: ast.Name, use: Use, ctx: Context) -> bool:
    """Return whether the enclosing function does anything with a mapping but unpack it."""
    read = [
        one
        for one in walk_body(enclosing_body(use, ctx))
        if isinstance(one, ast.Name) and one.id == mapping.id
    ]
    parents = ctx.uses.data_flow.parents
    return any(not isinstance(parents.get(one), (ast.keyword, ast.Assign)) for one in read)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call = use.call or find_partial(use)
    if call is None or any(
        name in _DECIDED for keyword in call.keywords for name in _keyword_names(keyword, use, ctx)
    ):
        return
    starred = any(isinstance(argument, ast.Starred) for argument in call.args)
    if not starred and not _SPARSE.search(ctx.source.text):
        yield from create_advice(use, ctx)
