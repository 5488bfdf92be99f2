"""A mask written out by hand for `scaled_dot_product_attention`, where FlexAttention computes it.

Why: a mask as a tensor is as large as the attention itself, is read for every head, and keeps
`scaled_dot_product_attention` from the flash kernels. `flex_attention` takes the pattern as a function, compiles it into
the kernel, and skips blocks that are masked whole. A causal mask alone is `is_causal=True`.

    i = torch.arange(n)
    mask = (i[:, None] - i[None, :]).abs() <= window
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    →
    block_mask = create_block_mask(lambda b, h, i, j: (i - j).abs() <= window, None, None, n, n)
    y = torch.compile(flex_attention)(q, k, v, block_mask=block_mask)

Needs: torch 2.5, compiled, on a GPU (CPUs: inference, 2.6 and newer).

Brings: memory that does not grow with the square of the length. Its authors measure 5.5 to 8 times the speed of
`scaled_dot_product_attention` with such a mask, and 0.68 to 1.43 times that of FlashAttention 2 for the patterns it has.

When not: sequences are short, the mask is data and no pattern, or dropout inside of attention is needed.

Measure: `TORCH_LOGS=perf_hints python your_script.py`, and the time of one layer with both.

Source: https://pytorch.org/blog/pytorch2-5/, https://arxiv.org/abs/2412.05496; torch 2.5 wheel:
torch/nn/attention/flex_attention.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule
from torchmigrate.semantics.calls import argument
from torchmigrate.semantics.resolve import leaf

from ._seen.advice import advise

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

rule = Rule(
    code="AD925",
    symbols=("torch.nn.functional.scaled_dot_product_attention",),
    message="this mask is a pattern that `flex_attention` computes in the kernel, without the tensor",
    since=(2, 5),
    default=False,
    kinds=frozenset({Kind.CALL}),
)

_TRIANGLES = frozenset({"tril", "triu"})
_FILLS = frozenset({"ones", "full", "zeros", "ones_like", "tensor"})
_DEPTH = 6


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    mask = argument(use.call, 3, "attn_mask") if use.call is not None else None
    if mask is None:
        return
    pattern = _pattern(mask, use, ctx, _DEPTH)
    if pattern == "causal":
        yield from advise(
            use,
            ctx,
            "this mask is causal: `is_causal=True` says so without the tensor",
            at=mask,
            since=(2, 0),
        )
    elif pattern is not None:
        yield from advise(use, ctx, at=mask)


def _pattern(node: ast.expr, use: Use, ctx: Context, depth: int) -> str | None:
    """``causal`` or ``positions`` for a mask that is worked out of positions alone, through variables and casts."""
    if depth == 0:
        return None
    if isinstance(node, ast.Name):
        value = ctx.uses.flow.definition(node, use.place.scope)
        return None if value is None else _pattern(value, use, ctx, depth - 1)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Invert, ast.USub)):
        return _of_positions(_pattern(node.operand, use, ctx, depth - 1))
    if isinstance(node, ast.Subscript):
        return _pattern(node.value, use, ctx, depth - 1)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
        sides = [_pattern(side, use, ctx, depth - 1) for side in (node.left, node.right)]
        return "positions" if all(sides) else None
    if isinstance(node, ast.Compare):
        counted = any(_counts(side, use, ctx, depth - 1) for side in (node.left, *node.comparators))
        return "positions" if counted and _is_square(node, use, ctx) else None
    if isinstance(node, ast.Call):
        return _called(node, use, ctx, depth)
    return None


def _called(node: ast.Call, use: Use, ctx: Context, depth: int) -> str | None:
    name = leaf(node.func)
    if name in _TRIANGLES:
        filled = node.args[0] if ctx.resolve(node.func, use) is not None and node.args else _receiver(node)
        plain = isinstance(filled, ast.Call) and leaf(filled.func) in _FILLS
        shifted = len(node.args) > 1 or any(keyword.arg == "diagonal" for keyword in node.keywords)
        if not plain:
            return None
        return "causal" if name == "tril" and not shifted else "positions"
    if name in ("to", "bool", "unsqueeze", "view", "expand", "float", "type", "logical_not", "contiguous"):
        receiver = _receiver(node)
        found = _pattern(receiver, use, ctx, depth - 1) if receiver is not None else None
        return _of_positions(found) if name in ("float", "type", "logical_not") else found
    return None


def _of_positions(found: str | None) -> str | None:
    """What is left of a pattern after its values have changed their meaning."""
    return None if found is None else "positions"


def _receiver(node: ast.Call) -> ast.expr | None:
    return node.func.value if isinstance(node.func, ast.Attribute) else None


def _counts(node: ast.expr, use: Use, ctx: Context, depth: int) -> bool:
    """Whether an expression is made of positions: ``torch.arange(n)[:, None]``."""
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and leaf(part.func) == "arange":
            return True
        if isinstance(part, ast.Name) and depth > 0:
            value = ctx.uses.flow.definition(part, use.place.scope)
            if value is not None and _counts(value, use, ctx, depth - 2):
                return True
    return False


def _is_square(node: ast.Compare, use: Use, ctx: Context) -> bool:
    """Whether positions are held against positions, and not against lengths: two of the parts add a dimension."""
    added = 0
    waiting: list[ast.AST] = [node]
    for part in waiting:
        if len(waiting) > 200:
            return False
        added += isinstance(part, ast.Subscript) and any(
            isinstance(index, ast.Constant) and index.value is None for index in ast.walk(part.slice)
        )
        added += isinstance(part, ast.Call) and leaf(part.func) in ("unsqueeze", "view", "reshape")
        if isinstance(part, ast.Name):
            value = ctx.uses.flow.definition(part, use.place.scope)
            waiting += [value] if value is not None else []
        waiting += ast.iter_child_nodes(part)
    return added >= 2
