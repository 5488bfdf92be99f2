"""A Python branch on a tensor's value in a compiled, exported or captured region, which `torch.cond` takes in.

Why: an `if` on a tensor's value has to be decided on the CPU. It splits what `torch.compile` compiles in two, or raises with
`fullgraph=True`; `torch.export` refuses it; inside a CUDA graph reading the value is an error. `torch.cond` keeps both
sides, and torch 2.12 captures it into a CUDA graph as a conditional node, decided on the GPU.

    if x.sum() > 0:
        y = a(x)
    else:
        y = b(x)
    →
    y = torch.cond(x.sum() > 0, a, b, (x,))

Needs: torch 2.4 where it is compiled or exported; inside of a CUDA graph torch 2.12, CUDA 12.4, and the backends `eager` or
`cudagraphs`.

Brings: one graph instead of two and no wait for the value.

When not: the sides return tensors of different shapes or types, change what lives outside, or need gradients that
`torch.cond` cannot give; or one side is seldom and cheap to leave out.

Measure: `TORCH_LOGS=graph_breaks python your_script.py` lists the branches that split a graph.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/; torch 2.12 wheel: torch/_higher_order_ops/cond.py,
torch/_higher_order_ops/cudagraph_conditional_nodes.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule

from ._seen.advice import advise
from ._seen.compiled import code_of, compiled, statements
from ._seen.nodes import entered, own
from ._seen.tensors import is_test

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.semantics.scopes import Scope

_CAPTURES = ("torch.cuda.graph", "torch.cuda.graphs.graph")
_COMPILES = ("torch.compile", ".compile", "torch.export.export", "torch.cuda.make_graphed_callables")

rule = Rule(
    code="AD921",
    symbols=(*_CAPTURES, *_COMPILES),
    pairs=dict.fromkeys((*_CAPTURES, *_COMPILES), ()),
    message="this branch on a tensor's value splits the graph or stops the export; `torch.cond` keeps both sides in it",
    since=(2, 4),
    default=False,
    kinds=frozenset({Kind.CALL, Kind.DECORATOR, Kind.REFERENCE}),
)

_LEAVES = (
    ast.Raise,
    ast.Break,
    ast.Continue,
    ast.Assert,
    ast.For,
    ast.While,
    ast.With,
    ast.Try,
    ast.Yield,
    ast.Await,
)
_GRAPHS = (
    "a CUDA graph cannot hold this branch on a tensor's value; `torch.cond` is captured as a conditional node"
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.symbol in _CAPTURES:
        captured = entered(use, ctx)
        if captured is not None:
            yield from _branches(captured[0].body, use, ctx, use.place.scope, graphs=True)
        return
    defined = compiled(use, ctx)
    code = code_of(defined) if defined is not None else None
    if code is not None:
        scope = next((scope for scope in ctx.uses.scopes.all if scope.node is code), use.place.scope)
        yield from _branches(
            statements(code), use, ctx, scope, graphs=use.symbol.endswith("make_graphed_callables")
        )


def _branches(
    body: Sequence[ast.AST], use: Use, ctx: Context, scope: Scope, *, graphs: bool
) -> Iterator[Finding]:
    for node in own(body):
        if not isinstance(node, (ast.If, ast.IfExp)) or not is_test(node.test, use, ctx, scope):
            continue
        if isinstance(node, ast.IfExp) or _gives_values(node):
            first = ctx.uses.once((ctx.rule.code, node), lambda: use)
            if first is not use:  # which compiles the same code
                continue
            if graphs:
                yield from advise(use, ctx, _GRAPHS, at=node.test, since=(2, 12))
            else:
                yield from advise(use, ctx, at=node.test)


def _gives_values(node: ast.If) -> bool:
    """Whether the sides of a branch do nothing but give values, as those of `torch.cond` must."""
    inside = list(own([*node.body, *node.orelse]))
    if any(isinstance(part, _LEAVES) for part in inside):
        return False
    if any(isinstance(part, ast.Expr) and not isinstance(part.value, ast.Constant) for part in inside):
        return False
    return any(
        isinstance(part, (ast.Assign, ast.AugAssign))
        or (isinstance(part, ast.Return) and part.value is not None)
        for part in inside
    )
