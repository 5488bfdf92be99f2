"""`max-autotune` used on GPUs only, although torch 2.5 supports it on CPUs as well.

Why: since torch 2.5 Inductor's `max-autotune` also tries its own templates for matrix products on CPUs, besides those of
oneDNN and MKL. Code that chooses the mode by the device misses that.

    model = torch.compile(model, mode="max-autotune" if device == "cuda" else "default")
    →
    model = torch.compile(model, mode="max-autotune")

Needs: torch 2.5.

Brings: the fastest of several implementations for each product; the release blog of torch 2.5 gives no general figure.

When not: start-up time matters more, since the candidates are compiled and timed.

Measure: run the model with both modes; `TORCH_LOGS=+inductor python your_script.py` prints the timings.

Source: https://pytorch.org/blog/pytorch2-5/; torch 2.5 wheel: torch/_inductor/config.py (`max_autotune_gemm_backends`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.semantics.call_arguments import find_argument
from torchmigrate.semantics.name_resolution import last_name, string_value

from ._analyses.advice_findings import create_advice

rule = Rule(
    code="AD927",
    symbols=("torch.compile",),
    pairs={"torch.compile": ("autotune",)},
    message="this uses `max-autotune` on GPUs only, but it speeds up matrix products on CPUs too",
    since=(2, 5),
    default=False,
    kinds=frozenset({Kind.CALL}),
)

_GPU = re.compile(r"(?i)cuda|gpu")


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    mode = find_argument(use.call, None, "mode") if use.call is not None else None
    if isinstance(mode, ast.Name):
        mode = ctx.uses.data_flow.find_definition(mode, use.place.scope)
    if isinstance(mode, ast.IfExp):
        kept = _is_autotune(mode.body) and _asks_for_gpu(mode.test, ctx)
        match mode.test:
            case ast.Compare(ops=[ast.Eq(), *_], comparators=[ast.Constant(value="cpu"), *_]):
                kept = kept or _is_autotune(mode.orelse)
        if kept:
            yield from create_advice(use, ctx, at=mode)
        return
    outer = use.place.parent.statement if use.place.parent is not None else None
    if _is_autotune(mode) and isinstance(outer, ast.If) and use.place.statement in outer.body:
        below = (part for one in _find_alternative(outer, use) for part in ast.walk(one))
        otherwise = [last_name(part.func) for part in below if isinstance(part, ast.Call)]
        if "compile" in otherwise and _asks_for_gpu(outer.test, ctx):
            yield from create_advice(use, ctx)


def _find_alternative(test: ast.If, use: Use) -> list[ast.stmt]:
    """Return the statements that run only if a test fails: its ``else``, or the rest of the block if its body returns."""
    leaves = isinstance(test.body[-1], ast.Return) and not test.orelse
    place = use.place.parent
    return place.block[place.block.index(test) + 1 :] if leaves and place is not None else test.orelse


def _is_autotune(mode: ast.expr | None) -> bool:
    return mode is not None and (string_value(mode) or "").startswith("max-autotune")


def _asks_for_gpu(test: ast.expr, ctx: Context) -> bool:
    negated = isinstance(test, ast.UnaryOp) or "!=" in ctx.get_text(test)
    return bool(_GPU.search(ctx.get_text(test))) and not negated
