r"""`torch.linalg.eigh` called for each matrix of a batch, although one call takes the whole batch.

Why: `eigh` and `eigvalsh` take a batch of matrices. On CUDA each call for one small matrix leaves most of the GPU idle;
torch 2.12 passes a whole batch to cuSOLVER's `syevj_batched`.

    for i in range(a.shape[0]):
        w, v = torch.linalg.eigh(a[i])
    →
    w, v = torch.linalg.eigh(a)

Needs: torch 2.12 for cuSOLVER's batched solver; the batched call itself is as old as `torch.linalg`.

Brings: a batch is solved up to 100 times as fast as with MAGMA in torch 2.11, according to the release blog, and without
one launch for each matrix.

When not: the matrices have different sizes, each one depends on the result of the one before, or the batch and its
eigenvectors do not fit into memory. On a CPU little changes. A loop is not reported if the same function also solves the
whole batch at once.

Measure: this, and again with `[torch.linalg.eigh(m) for m in a]`:

    python -m timeit -s "import torch; a = torch.randn(500, 32, 32, device='cuda'); a = a + a.mT" \
        "torch.linalg.eigh(a); torch.cuda.synchronize()"

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/; torch 2.15 wheel: torch/linalg/__init__.py (`eigh`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.semantics.name_resolution import last_name

from ._analyses.advice_findings import create_advice
from ._analyses.batch_loops import (
    EnclosingLoop,
    depends_on_loop,
    find_loops,
    find_mapped_iterable,
    is_element,
    is_unbound_batch,
)
from ._analyses.enclosing_nodes import enclosing_body, walk_body

rule = Rule(
    code="AD901",
    symbols=("torch.linalg.eigh", "torch.linalg.eigvalsh"),
    message="this loop calls `{symbol}` for each matrix of a batch; pass the whole batch in one call",
    since=(2, 12),
    default=False,
    kinds=frozenset({Kind.CALL, Kind.REFERENCE}),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.kind is Kind.REFERENCE:
        over = find_mapped_iterable(use.node, use.parents[-1]) if isinstance(use.node, ast.expr) else None
        if over is not None and is_unbound_batch(over, use, ctx):
            yield from create_advice(use, ctx)
        return
    if use.call is None or not use.call.args:
        return
    for loop in find_loops(use):
        parts = list(_split_operands(use.call.args[0], loop, use, ctx))
        elements = [part for part in parts if is_element(part, loop, use, ctx)]
        others = [part for part in parts if part not in elements]
        if (
            elements
            and not any(depends_on_loop(part, loop) for part in others)
            and not _is_also_batched(use, loop, ctx)
        ):
            yield from create_advice(use, ctx)
            return


def _is_also_batched(use: Use, loop: EnclosingLoop, ctx: Context) -> bool:
    """Return whether the function also solves the whole batch at once, so that the loop is a deliberate alternative."""
    given = [loop.over, *(use.call.args[:1] if use.call is not None else [])]
    looped = {part.id for node in given for part in ast.walk(node) if isinstance(part, ast.Name)}
    return any(
        isinstance(part, ast.Call)
        and part is not use.call
        and last_name(part.func) == last_name(use.node)
        and any(isinstance(one, ast.Name) and one.id in looped for one in part.args)
        for part in walk_body(enclosing_body(use, ctx))
    )


_ALIKE = frozenset(
    {"double", "float", "to", "contiguous", "clone", "detach", "transpose", "t", "conj", "adjoint"}
)
_TRANSPOSED = frozenset({"T", "mT", "H", "mH"})


def _split_operands(node: ast.expr, loop: EnclosingLoop, use: Use, ctx: Context) -> Iterator[ast.expr]:
    """Yield the operands of a matrix expression that works on a whole batch as well: ``m``, ``m`` and 2 of ``(m + m.mT) / 2``."""
    if isinstance(node, ast.BinOp) and isinstance(
        node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.MatMult)
    ):
        yield from _split_operands(node.left, loop, use, ctx)
        yield from _split_operands(node.right, loop, use, ctx)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ALIKE:
        yield from _split_operands(node.func.value, loop, use, ctx)
    elif isinstance(node, ast.Attribute) and node.attr in _TRANSPOSED:
        yield from _split_operands(node.value, loop, use, ctx)
    else:
        value = (
            ctx.uses.data_flow.find_definition(node, use.place.scope) if isinstance(node, ast.Name) else None
        )
        if value is not None and value in walk_body(loop.body):
            yield from _split_operands(value, loop, use, ctx)
        else:
            yield node
