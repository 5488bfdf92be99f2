"""A raised limit of recompilations, which `mark_dynamic` may make unnecessary.

Why: each new size of an input can recompile a function, until `recompile_limit` (`cache_size_limit` before torch 2.6) stops
that. A higher limit allows all those compilations. `torch._dynamo.mark_dynamic` names the dimension that varies, so that one
compilation works for all of its sizes from the first call on.

    torch._dynamo.config.cache_size_limit = 64
    compiled(x)
    →
    torch._dynamo.mark_dynamic(x, 0)
    compiled(x)

Needs: torch 2.1.

Brings: one compilation instead of up to as many as the limit allows.

When not: something other than a size causes the recompilations, or each size needs code of its own. Not reported are files
that mark dimensions or set `dynamic=`, and tests and benchmarks, which try many sizes on purpose.

Measure: `TORCH_LOGS=recompiles python your_script.py` gives the reason for each recompilation.

Source: https://docs.pytorch.org/docs/main/user_guide/torch_compiler/compile/programming_model.reducing_compile_time.html;
torch 2.5 and 2.15 wheels: torch/_dynamo/config.py, torch/_dynamo/decorators.py (`mark_dynamic`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from torchmigrate.api import Context, Finding, Kind, Rule, Use
from torchmigrate.semantics.name_resolution import last_name, string_value

from ._analyses.advice_findings import create_advice

_PATCHES = ("torch._dynamo.config.patch", "torch.compiler.config.patch")

rule = Rule(
    code="AD924",
    symbols=(
        "torch._dynamo.config.cache_size_limit",
        "torch._dynamo.config.accumulated_cache_size_limit",
        "torch._dynamo.config.recompile_limit",
        "torch._dynamo.config.accumulated_recompile_limit",
        "torch.compiler.config.recompile_limit",
        *_PATCHES,
    ),
    pairs=dict.fromkeys(_PATCHES, ("cache_size_limit", "recompile_limit")),
    message="a higher limit only allows more recompilations; find their causes with `TORCH_LOGS=recompiles`, and mark varying sizes with `torch._dynamo.mark_dynamic`",
    since=(2, 1),
    default=False,
    by_code=True,
    kinds=frozenset({Kind.ASSIGNMENT, Kind.CALL}),
)

_DECIDED = re.compile(
    rb"mark_dynamic\b|\bmark_unbacked\b|\bdynamic(?:[\"']\]?)?\s*[=:]|\bautomatic_dynamic_shapes\b"
)
_DEFAULT = {"cache_size_limit": 8, "recompile_limit": 8}
_ACCUMULATED = 256
_NAMES = {*_DEFAULT, "accumulated_cache_size_limit", "accumulated_recompile_limit"}


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    if use.kind is Kind.CALL:
        yield from _check_patch(use, ctx)
        return
    assigned = use.place.statement
    if isinstance(assigned, ast.Assign):
        value = assigned.value
    elif isinstance(use.node, ast.Call) and last_name(use.node.func) == "setattr" and len(use.node.args) == 3:
        value = use.node.args[2]
    else:
        return
    if _is_raised(use.symbol.rpartition(".")[2], value, use, ctx):
        yield from create_advice(use, ctx)


def _check_patch(use: Use, ctx: Context) -> Iterator[Finding]:
    """Yield findings for ``config.patch(…)`` with the limit as a keyword, in a dictionary, or as a name and a value."""
    if use.symbol not in _PATCHES or use.call is None:
        return
    given = [(keyword.arg, keyword.value) for keyword in use.call.keywords]
    match use.call.args:
        case [ast.Dict(keys, values)]:
            given += [
                (string_value(key) if key else None, value) for key, value in zip(keys, values, strict=True)
            ]
        case [name, value]:
            given.append((string_value(name), value))
    if any(name in _NAMES and _is_raised(name, value, use, ctx) for name, value in given if name):
        yield from create_advice(use, ctx)


def _is_raised(name: str, value: ast.expr, use: Use, ctx: Context) -> bool:
    """Return whether a limit is set above its default, in a file that decides nothing about sizes."""
    raised = None if _DECIDED.search(ctx.source.text) else _least_value(value, use, ctx)
    return raised is not None and raised > _DEFAULT.get(name, _ACCUMULATED)


def _least_value(node: ast.expr, use: Use, ctx: Context) -> int | None:
    """Return the least value that an expression can have: 64 for ``max(64, config.recompile_limit)``; None if unknown."""
    match node:
        case ast.Name():
            value = ctx.uses.data_flow.find_definition(node, use.place.scope)
            return None if value is None or isinstance(value, ast.Name) else _least_value(value, use, ctx)
        case ast.Call(func=function, args=arguments) if last_name(function) == "max":
            numbers = (one.value for one in arguments if isinstance(one, ast.Constant))
            return max((number for number in numbers if isinstance(number, int)), default=None)
        case ast.Constant(value=int(number)):
            return number
    return None
