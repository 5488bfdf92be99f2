r"""`sdpa_kernel` that allows flash attention and not cuDNN's attention, which is faster on H100.

Why: torch 2.5 added cuDNN's fused attention and prefers it on H100 and newer GPUs. A list of allowed backends that was
written before excludes it.

    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
    →
    with sdpa_kernel([SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION]):

Needs: torch 2.5, an NVIDIA GPU of compute capability 9.0 or newer.

Brings: up to 75 % more speed than FlashAttention 2 on H100, according to the release blog of torch 2.5.

When not: the code needs flash attention's exact results, or runs on older GPUs. Not reported are blocks that call neither
`scaled_dot_product_attention` nor a model, blocks in a function or class named after flash attention, and those in a function
that elsewhere allows only the math backend, for comparison.

Measure: this, and again with `FLASH_ATTENTION`:

    python -m timeit -s "import torch; from torch.nn.attention import SDPBackend, sdpa_kernel" \
        -s "q = torch.randn(8, 16, 4096, 128, device='cuda', dtype=torch.bfloat16)" \
        -s "c = sdpa_kernel(SDPBackend.CUDNN_ATTENTION); c.__enter__()" \
        "torch.nn.functional.scaled_dot_product_attention(q, q, q); torch.cuda.synchronize()"

Source: https://pytorch.org/blog/pytorch2-5/; torch 2.5 and 2.15 wheels: torch/nn/attention/__init__.py (`sdpa_kernel`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name

from ._analyses.advice_findings import create_advice
from ._analyses.enclosing_nodes import FunctionNode, enclosing_body, enclosing_names, find_with, walk_body

rule = Rule(
    code="AD926",
    symbols=("torch.nn.attention.sdpa_kernel",),
    message="this allows flash attention but not cuDNN attention, which is faster on H100; add `SDPBackend.CUDNN_ATTENTION`",
    since=(2, 5),
    default=False,
    kinds=frozenset({Kind.CALL, Kind.DECORATOR}),
)

_OTHER = re.compile(r"(?i)attention|attn|flash|flex|xformers")
_MODEL = re.compile(r"(?i)model|network|encoder|decoder|transformer|forward|generate")
"""Names of functions that run layers of attention, such as the methods of a model."""


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    given = find_argument(use.call, 0, "backends") if use.call is not None else None
    if isinstance(given, ast.Name):
        given = ctx.uses.data_flow.find_definition(given, use.place.scope)
    if given is None or b"CUDNN_ATTENTION" in ctx.source.text:
        return
    if any("flash" in name.lower() for name in enclosing_names(use)):
        return
    allowed = given.elts if isinstance(given, (ast.List, ast.Tuple)) else [given]
    flash = any(isinstance(one, ast.Attribute) and last_name(one) == "FLASH_ATTENTION" for one in allowed)
    if flash and not _is_compared(use, ctx) and _is_for_attention(_find_allowed_block(use, ctx), use, ctx):
        yield from create_advice(use, ctx)


def _is_compared(use: Use, ctx: Context) -> bool:
    """Return whether the enclosing function elsewhere allows only the math backend, to compare flash attention with it."""
    if not any(isinstance(outer, FunctionNode) for outer in use.place.enclosing_statements()):
        return False
    calls = (part for part in walk_body(enclosing_body(use, ctx)) if isinstance(part, ast.Call))
    given = (find_argument(call, 0, "backends") for call in calls if last_name(call.func) == "sdpa_kernel")
    return any(last_name(one) == "MATH" for one in given if one is not None)


def _find_allowed_block(use: Use, ctx: Context) -> list[ast.stmt]:
    """Return the statements that run with the allowed backends, in a ``with`` or a decorated function."""
    if use.decorated is not None:
        return use.decorated.body
    held = find_with(use, ctx)
    return held[0].body if held is not None else []


def _is_for_attention(block: list[ast.stmt], use: Use, ctx: Context) -> bool:
    """Return whether a block calls `scaled_dot_product_attention`, or a model that may do so, and no other attention."""
    calls = [part.func for part in walk_body(block) if isinstance(part, ast.Call)]
    if any(last_name(function) == "scaled_dot_product_attention" for function in calls):
        return True
    if any(_OTHER.search(last_name(function) or "") for function in calls):
        return False
    return any(
        _MODEL.search(last_name(function) or "")
        for function in calls
        if ctx.resolve_node(function, use) is None
    )
