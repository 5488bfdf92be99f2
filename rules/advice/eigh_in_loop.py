"""`torch.linalg.eigh` of one matrix after the other, where one call takes the whole batch.

Why: `eigh` and `eigvalsh` take a batch of matrices. On CUDA each call for one small matrix leaves most of the GPU idle,
and torch 2.12 hands a whole batch to cuSOLVER's `syevj_batched`.

    for i in range(a.shape[0]):
        w, v = torch.linalg.eigh(a[i])
    →
    w, v = torch.linalg.eigh(a)

Needs: torch 2.12 for cuSOLVER's batched solver; the batched call itself is as old as `torch.linalg`.

Brings: a batch is solved up to 100 times as fast as by the MAGMA of torch 2.11, as the release blog says, and without
one launch for each matrix.

When not: the matrices have different sizes, each one depends on the result of the one before, or all of them together
with their vectors do not fit into memory. On a CPU little changes.

Measure: `python -m timeit -s "import torch; a = torch.randn(500, 32, 32, device='cuda'); a = a + a.mT"
"torch.linalg.eigh(a); torch.cuda.synchronize()"`, and again with `[torch.linalg.eigh(m) for m in a]`.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/; torch 2.15 wheel: torch/linalg/__init__.py (`eigh`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule

from ._seen.advice import advise
from ._seen.loops import element_of, loops

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

rule = Rule(
    code="AD901",
    symbols=("torch.linalg.eigh", "torch.linalg.eigvalsh"),
    message="`{symbol}` is called for one matrix of a batch after the other; one call takes the whole batch",
    since=(2, 12),
    default=False,
    kinds=frozenset({Kind.CALL}),
)

_CASTS = frozenset({"double", "float", "contiguous", "clone", "detach"})


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.call is None or not use.call.args:
        return
    matrix = _bare(use.call.args[0])
    if any(element_of(matrix, loop, use, ctx) for loop in loops(use)):
        yield from advise(use, ctx)


def _bare(node: ast.expr) -> ast.expr:
    """The matrix without what is done to each alike: ``a[i].double()``, ``a[i] + eye``."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CASTS:
        return _bare(node.func.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        return _bare(node.left)
    return node
