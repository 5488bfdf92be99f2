"""A setting of the compiler that is passed by name and was removed or deprecated.

Why: `config.patch` and the `options` of `torch.compile` take settings by name, and reject one that was removed; a deprecated
setting warns, or does nothing.

    with torch._dynamo.config.patch(cache_size_limit=64): ...

What to do: drop the setting, or pass its replacement; `torchmigrate ledger NAME` shows which releases have a name.

Source: `torchmigrate/tables/data/changes.toml`, and `torchmigrate/tables/api_ledger.py`, a table read from the wheels of torch 2.0 to
2.15.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchmigrate.api import Calls, Context, Finding, Kind, Rule, Severity, Use
from torchmigrate.semantics.version_guards import find_reach
from torchmigrate.tables import api_changes, api_ledger

from ._changes.dictionary_arguments import create_keyword, find_entries, find_unpacked
from ._changes.missing_names import has_alternative

_COMPILE = "torch.compile"
_PATCHES = {
    f"{module}.patch": module
    for module in ("torch._dynamo.config", "torch._inductor.config", "torch._functorch.config")
}
_CHANGES = api_changes.index_by_symbol(
    api_changes.ApiChangeKind.REMOVED,
    api_changes.ApiChangeKind.DEPRECATED,
    api_changes.ApiChangeKind.DOCUMENTED,
)

rule = Rule(
    code="RM735",
    symbols=(_COMPILE, *_PATCHES),
    pairs={_COMPILE: ("options",), **dict.fromkeys(_PATCHES, ())},
    calls={_COMPILE: Calls(giving=frozenset(["options"]))},
    kinds=frozenset({Kind.CALL}),
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    call = use.call
    if call is None:
        return
    module = _PATCHES.get(use.symbol, "torch._inductor.config")
    for given in _find_options(call, use, ctx) if use.symbol == _COMPILE else _find_patched(call, use, ctx):
        name = f"{module}.{given.arg}"
        judged = _judge_setting(name, ctx)
        if judged is not None and not has_alternative(use, ctx, find_reach(use, ctx.uses)):
            severity, state, source = judged
            span = ctx.source.span_of(given)
            yield ctx.finding(use, f"`{name}` {state}", severity=severity, span=span, source=source)


def _find_options(call: ast.Call, use: Use, ctx: Context) -> Iterator[ast.keyword]:
    """Yield the entries of ``options=``, if the backend is Inductor; other backends have their own."""
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    backend = given.get("backend")
    if backend is None or ast.unparse(backend) == "'inductor'":
        yield from find_entries(given["options"], use, ctx) if "options" in given else ()


def _find_patched(call: ast.Call, use: Use, ctx: Context) -> Iterator[ast.keyword]:
    """Yield the settings of ``patch(name=…)``, ``patch("name", …)`` and ``patch({"name": …})``."""
    yield from (keyword for keyword in call.keywords if keyword.arg is not None)
    yield from find_unpacked(call, use, ctx)
    match call.args:
        case [ast.Constant(value=str(name)) as first, value]:
            yield create_keyword(name, first, value)
        case [first]:
            yield from find_entries(first, use, ctx)


def _judge_setting(name: str, ctx: Context) -> tuple[Severity, str, str | None] | None:
    """Return the severity of a setting at the target, the clause for its message, and its source; None if it works."""
    target = ctx.options.target
    if (change := _CHANGES.get(name)) is not None:
        return (
            change.find_severity(target),
            f"{change.describe_state(target)}; {change.instead}",
            change.source,
        )
    entry = api_ledger.find_entry(name)
    if (
        entry is None
        or target in entry.present
        or not any(run[0] <= target for run in entry.present.find_runs())
    ):
        return None
    return Severity.ERROR, "was removed; drop the setting", None
