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

When not: sequences are short, the mask is data and no pattern (as a learned bias is), or dropout inside of attention is
needed. Tests, which hold a kernel against the mask written out, are left alone.

Measure: `TORCH_LOGS=perf_hints python your_script.py`, and the time of one layer with both.

Source: https://pytorch.org/blog/pytorch2-5/, https://arxiv.org/abs/2412.05496; torch 2.5 wheel:
torch/nn/attention/flex_attention.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule
from torchmigrate.semantics.calls import argument

from ._seen.advice import advise
from ._seen.masks import Masks, Pattern

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


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    mask = argument(use.call, 3, "attn_mask") if use.call is not None else None
    if mask is None:
        return
    pattern = Masks(use, ctx).pattern(mask, use.place.scope)
    if pattern is Pattern.CAUSAL:
        message = "this mask is causal: `is_causal=True` says so without the tensor"
        yield from advise(use, ctx, message, at=mask, since=(2, 0))
    elif pattern is not None:
        yield from advise(use, ctx, at=mask)
