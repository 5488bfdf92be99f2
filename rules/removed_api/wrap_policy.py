"""A wrapping policy for FSDP with the old name of its parameter.

Why: up to torch 1.13, `FullyShardedDataParallel` passed the number of parameters to an `auto_wrap_policy` as
`unwrapped_params`. Since torch 2.0 it passes the keyword `nonwrapped_numel`, so a policy with the old name raises a
TypeError.

    def policy(module, recurse, unwrapped_params):
        return unwrapped_params >= 1000
    →
    def policy(module, recurse, nonwrapped_numel):
        return nonwrapped_numel >= 1000

Functions that take `module`, `recurse` and `unwrapped_params` are reported, in files that use FSDP.

What to do: rename the parameter to `nonwrapped_numel`.

Source: torch 1.13.1 and 2.0 wheels: torch/distributed/fsdp/wrap.py (`_recursive_wrap`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from torchmigrate.api import Context, Finding, Rule, Use
from torchmigrate.semantics.version_guards import find_reach

_SYMBOLS = (
    "torch.distributed.fsdp.FullyShardedDataParallel",
    "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel",
)
_OLD = "unwrapped_params"

rule = Rule(
    code="RM712",
    symbols=_SYMBOLS,
    pairs=dict.fromkeys(_SYMBOLS, (_OLD,)),
    message=f"since torch {{breaks}}, FSDP passes `nonwrapped_numel=` to a policy instead of `{_OLD}=`; rename the parameter",
    breaks=(2, 0),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if ctx.uses.compute_once(rule.code, lambda: use) is not use:
        return
    for place in ctx.uses.scopes.places:
        function = place.statement
        if not isinstance(function, ast.FunctionDef):
            continue
        parameters = {
            parameter.arg: parameter for parameter in (*function.args.args, *function.args.kwonlyargs)
        }
        if not {"module", "recurse", _OLD} <= parameters.keys() or function.args.kwarg is not None:
            continue
        reached = find_reach(replace(use, place=place, parents=(function,)), ctx.uses)
        if reached.includes_version(ctx.options.target):
            yield ctx.finding(use, span=ctx.source.span_of(parameters[_OLD]))
