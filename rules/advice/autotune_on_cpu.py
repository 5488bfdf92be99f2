"""`max-autotune` kept for GPUs, though torch 2.5 has it for CPUs as well.

Why: since torch 2.5 Inductor's `max-autotune` also tries templates of its own for matrix products on CPUs, besides those of
oneDNN and MKL. Code that chooses the mode by the device leaves that out.

    model = torch.compile(model, mode="max-autotune" if device == "cuda" else "default")
    →
    model = torch.compile(model, mode="max-autotune")

Needs: torch 2.5.

Brings: the faster one of several implementations for each product; the release blog of 2.5 names no figure that holds for all.

When not: start-up time matters more, since candidates are compiled and timed.

Measure: run the model with both modes; `TORCH_LOGS=+inductor python your_script.py` prints what was timed.

Source: https://pytorch.org/blog/pytorch2-5/; torch 2.5 wheel: torch/_inductor/config.py (`max_autotune_gemm_backends`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Kind, Rule
from torchmigrate.semantics.calls import argument
from torchmigrate.semantics.resolve import string

from ._seen.advice import advise

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use

rule = Rule(
    code="AD927",
    symbols=("torch.compile",),
    pairs={"torch.compile": ("autotune",)},
    message="`max-autotune` chooses among implementations on CPUs too",
    since=(2, 5),
    default=False,
    kinds=frozenset({Kind.CALL}),
)

_GPU = re.compile(r"(?i)cuda|gpu")


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    mode = argument(use.call, None, "mode") if use.call is not None else None
    if isinstance(mode, ast.Name):
        mode = ctx.uses.flow.definition(mode, use.place.scope)
    if not isinstance(mode, ast.IfExp) or not (string(mode.body) or "").startswith("max-autotune"):
        return
    negated = isinstance(mode.test, ast.UnaryOp) or "!=" in ctx.text(mode.test)
    if _GPU.search(ctx.text(mode.test)) and not negated:
        yield from advise(use, ctx, at=mode)
