"""`sdpa_kernel` allows flash attention and not cuDNN's, which is the faster one on H100.

Why: torch 2.5 added cuDNN's fused attention and takes it by itself on H100 and newer GPUs. A list of allowed backends that
was written before shuts it out.

    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
    →
    with sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION]):

Needs: torch 2.5, an NVIDIA GPU of compute capability 9.0 or newer.

Brings: up to 75 % more speed than FlashAttention 2 on H100, as the release blog of 2.5 says.

When not: the block calls another attention than `scaled_dot_product_attention` or the function or class around it is called
after flash attention (then nothing is said), needs flash attention's exact results, or runs on older GPUs.

Measure: `python -m timeit -s "import torch; from torch.nn.attention import *; q = torch.randn(8, 16, 4096, 128, device='cuda',
dtype=torch.bfloat16); f = torch.nn.functional.scaled_dot_product_attention; c =
sdpa_kernel(SDPBackend.CUDNN_ATTENTION); c.__enter__()" "f(q, q, q); torch.cuda.synchronize()"`, and with `FLASH_ATTENTION`.

Source: https://pytorch.org/blog/pytorch2-5/; torch 2.5 and 2.15 wheels: torch/nn/attention/__init__.py (`sdpa_kernel`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule
from torchmigrate.semantics.calls import argument
from torchmigrate.semantics.resolve import leaf

from ._seen.advice import advise
from ._seen.nodes import names_around
from ._seen.trials import is_trial

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

rule = Rule(
    code="AD926",
    symbols=("torch.nn.attention.sdpa_kernel",),
    message="flash attention is allowed here and cuDNN's attention, faster on H100, is not",
    since=(2, 5),
    default=False,
    kinds=frozenset({Kind.CALL}),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    given = argument(use.call, 0, "backends") if use.call is not None else None
    if isinstance(given, ast.Name):
        given = ctx.uses.flow.definition(given, use.place.scope)
    if given is None or is_trial(ctx) or b"CUDNN_ATTENTION" in ctx.source.text:
        return
    if any("flash" in name.lower() for name in names_around(use)):
        return
    block = use.place.statement
    called = [leaf(part.func) for part in ast.walk(block) if isinstance(part, ast.Call)]
    if not isinstance(block, ast.With) or "scaled_dot_product_attention" not in called:
        return
    allowed = given.elts if isinstance(given, ast.List) else [given]
    if any(isinstance(one, ast.Attribute) and leaf(one) == "FLASH_ATTENTION" for one in allowed):
        yield from advise(use, ctx)
