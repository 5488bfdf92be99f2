"""A mask built as a tensor for `scaled_dot_product_attention`, although FlexAttention can compute it.

Why: a mask tensor is as large as the attention matrix itself, is read for every head, and keeps
`scaled_dot_product_attention` from using the flash kernels. `flex_attention` takes the pattern as a function, compiles it into
the kernel, and skips blocks that are masked entirely. For a causal mask, `is_causal=True` is enough.

    i = torch.arange(n)
    mask = (i[:, None] - i[None, :]).abs() <= window
    y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    →
    block_mask = create_block_mask(lambda b, h, i, j: (i - j).abs() <= window, None, None, n, n)
    y = torch.compile(flex_attention)(q, k, v, block_mask=block_mask)

Needs: torch 2.5 and `torch.compile`, on a GPU (on CPUs: inference only, torch 2.6 and newer).

Brings: memory that does not grow with the square of the length. Its authors measured 5.5 to 8 times the speed of
`scaled_dot_product_attention` with such a mask, and 0.68 to 1.43 times that of FlashAttention 2 for patterns that both support.

When not: sequences are short, the mask is data and not a pattern (such as a learned bias), or attention needs dropout.
Tests, which compare a kernel with an explicit mask, are not reported.

Measure: `TORCH_LOGS=perf_hints python your_script.py`, and the time of one layer with both.

Source: https://pytorch.org/blog/pytorch2-5/, https://arxiv.org/abs/2412.05496; torch 2.5 wheel:
torch/nn/attention/flex_attention.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.semantics.call_arguments import find_argument

from ._analyses.advice_findings import create_advice
from ._analyses.attention_masks import MaskPattern, MaskPatterns

rule = Rule(
    code="AD925",
    symbols=("torch.nn.functional.scaled_dot_product_attention",),
    message="this mask depends only on positions; use `flex_attention`, which computes it in the kernel, without a tensor",
    since=(2, 5),
    default=False,
    kinds=frozenset({Kind.CALL}),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    mask = find_argument(use.call, 3, "attn_mask") if use.call is not None else None
    if mask is None:
        return
    pattern = MaskPatterns(use, ctx).find_pattern(mask, use.place.scope)
    if pattern is MaskPattern.CAUSAL:
        message = "this mask is causal; pass `is_causal=True` instead of a tensor"
        yield from create_advice(use, ctx, message, at=mask, since=(2, 0))
    elif pattern is not None:
        yield from create_advice(use, ctx, at=mask)
