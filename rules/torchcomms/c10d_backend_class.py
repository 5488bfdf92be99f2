"""Code that relies on the class `ProcessGroupNCCL`: torch 2.15 uses another class for `nccl`.

Why: in torch 2.15 the backend `nccl` is `ProcessGroupNCCL2`, which runs on torchcomms and is no subclass of
`ProcessGroupNCCL`. So `isinstance(backend, ProcessGroupNCCL)` is False for the backend of an ordinary group, and the
code for NCCL behind it is silently skipped. `ProcessGroupNCCL(store, rank, size, options)` still creates the old class,
next to the groups that run on the new one. `ProcessGroupNCCL.Options` is unchanged: both classes take it.

What to do: test the name, which both share:

    if isinstance(group._get_backend(device), dist.ProcessGroupNCCL):
    →
    if "nccl" in dist.get_backend(group):

A group created by the constructor, with its own store, rank and size, works as before, whatever the backend of the
default group; so does a class derived from `ProcessGroupNCCL`. Both stay on the old engine.

How to see it: `type(group._get_backend(torch.device("cuda")))`.

How to go back: `TORCH_DIST_USE_NCCL2=0` in the environment before the first group is created, or the backend
`nccl-legacy` (torch 2.14 and newer).

Source: https://github.com/pytorch/pytorch/pull/192281; torch 2.15.0 wheel: torch/distributed/distributed_c10d.py
(`_register_builtin_nccl_backend`), torch/_C/_distributed_c10d.pyi (`class ProcessGroupNCCL2(Backend)`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Severity, Use

from ._groups.group_functions import qualify_c10d

rule = Rule(
    code="TC407",
    symbols=(*qualify_c10d("ProcessGroupNCCL"), "torch._C._distributed_c10d.ProcessGroupNCCL"),
    since=(2, 14),
    breaks=(2, 15),
    kinds=frozenset({Kind.CALL, Kind.ISINSTANCE, Kind.BASE, Kind.REFERENCE}),
)

_TEST_MESSAGE = (
    "the backend of an `nccl` group is a `ProcessGroupNCCL2` in torch {breaks}, so this check is False; use "
    '`"nccl" in dist.get_backend(group)`'
)
_CREATION_MESSAGES = {
    Kind.CALL: "this creates a group of the old class `ProcessGroupNCCL`, while torch {breaks} runs `nccl` on `ProcessGroupNCCL2`",
    Kind.BASE: "this class still uses `ProcessGroupNCCL`, while torch {breaks} runs `nccl` on `ProcessGroupNCCL2`",
}


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if ctx.options.target < (2, 15):
        return
    if use.kind is Kind.ISINSTANCE or (use.kind is Kind.REFERENCE and _compares_types(use.parents[-1])):
        yield ctx.finding(use, _TEST_MESSAGE)
    elif use.kind in _CREATION_MESSAGES:  # it still works, beside the new engine
        yield ctx.finding(use, _CREATION_MESSAGES[use.kind], severity=Severity.INFO)


def _compares_types(parent: ast.AST) -> bool:
    """Return whether an expression is ``type(x) is …`` or ``type(x) == …``."""
    if not isinstance(parent, ast.Compare):
        return False
    sides = [parent.left, *parent.comparators]
    return any(
        isinstance(s, ast.Call) and isinstance(s.func, ast.Name) and s.func.id == "type" for s in sides
    )
