"""A green context with multiprocessors of its own that shares the work queues.

Why: a green context of `num_sms` has multiprocessors of its own, but its streams share the hardware's work queues with all
others, so that one context can wait for another. Since torch 2.12 a context can have queues of its own.

    GreenContext.create(num_sms=32)
    →
    GreenContext.create(num_sms=32, workqueue_scope="balanced", workqueue_concurrency_limit=4)

Needs: torch 2.12 and a driver for CUDA 13.1; since torch 2.12 all arguments are keyword-only.

Brings: contexts that do not wait for each other.

When not: the driver is older, in which case `create` raises, or only one context runs at a time.

Source: https://pytorch.org/blog/pytorch-2-12-release-blog/; torch 2.11, 2.12 and 2.15 wheels: torch/cuda/green_contexts.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use

from ._analyses.advice_findings import create_advice

_CLASSES = ("torch.cuda.GreenContext", "torch.cuda.green_contexts.GreenContext")

rule = Rule(
    code="AD934",
    symbols=(*_CLASSES, *(f"{name}.create" for name in _CLASSES)),
    message='this context shares its work queues with others; pass `workqueue_scope="balanced"` to separate them',
    since=(2, 12),
    default=False,
    kinds=frozenset({Kind.CALL}),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.call is not None and not any(k.arg in (None, "workqueue_scope") for k in use.call.keywords):
        yield from create_advice(use, ctx)
