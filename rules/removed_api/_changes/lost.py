"""Names that torch has dropped, according to the ledger, and that no entry by hand and no other family covers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, Rule, Severity
from torchmigrate.model.versions import render
from torchmigrate.semantics.guards import reach
from torchmigrate.tables import api, changes
from torchmigrate.tables.releases import RELEASES

from .meant import is_replaced
from .prepared import imports_at_first, is_done_without

if TYPE_CHECKING:
    from collections.abc import Callable

    from torchmigrate.api import Context, Use

_OTHERS = (
    *("torch.jit", "torch._jit_internal", "torch._C", "torch.utils.jit", "torch.utils.bundled_inputs"),
    *("torch.utils.mobile_optimizer", "torch.onnx.utils", "torch.onnx._internal", "torch.onnx.symbolic"),
    *("torch.testing._internal", "torch.distributed._functional_collectives"),
    *("torch.distributed._tensor", "torch.distributed._shard.checkpoint"),
    *("torch.distributed._sharded_tensor", "torch.distributed._sharding_spec"),
    "torch.onnx.export_to_pretty_string",
    *(
        "functorch.dim.Tensor",
        "torch.fx.experimental.sym_node",
        "torch.fx.experimental.symbolic_shapes.FloorDiv",
    ),
)
"""Prefixes of names that other families cover, that only torch's own tests use, that torch redirects in `sys.modules`, or
that exist only at run time."""

_INSIDES = re.compile(
    r"torch\._dynamo\.polyfills\b|torch\.(?:_refs|_prims\w*|_decomp|_lazy|_numpy|_vendor)\b"
)
"""Internals of the compilers, whose names are those of operators and of other libraries."""


def lost(level: api.Level) -> tuple[str, ...]:
    """Return the lost symbols of one level, and patterns for everything in its lost modules."""
    written = changes.by_symbol(*changes.Kind)
    prefixes = (*_OTHERS, *(symbol[:-2] for symbol in written if symbol.endswith(".*")))
    return tuple(
        sorted(
            name
            for name in (*api.lost(level), *(f"{module}.*" for module in api.lost(level, modules=True)))
            if name not in written and not name.startswith(prefixes) and not _INSIDES.match(name)
        )
    )


def create_rule(code: str, *levels: api.Level, what: str) -> Rule:
    """Create the rule that reports every use of a lost name of some levels; ``what`` is as for `findings`."""
    symbols = tuple(name for level in levels for name in lost(level))
    rule = Rule(code, symbols, pairs=dict.fromkeys(symbols, ()))

    @rule.check
    def check(use: Use, ctx: Context) -> Iterator[Finding]:
        yield from findings(use, ctx, what)

    return rule


def findings(use: Use, ctx: Context, what: str, fix: Callable[[], Fix] | None = None) -> Iterator[Finding]:
    """Yield a finding for a use of a name that the target lacks; ``what`` says so, to be followed by a version."""
    entry, target = api.find(use.symbol.removesuffix(".*")), ctx.options.target
    if entry is None or target in entry.present or use.kind is Kind.GUARD or is_replaced(use):
        return
    if is_done_without(use, ctx, reach(use, ctx.uses)):
        return
    had = [run for run in entry.present.runs() if run[0] <= target]
    if not had:
        return
    first, last = had[-1]
    since = next(release for release in RELEASES if release > last)
    had_by = f"torch {render(first)} to {render(last)}" if first < last else f"only torch {render(last)}"
    yield ctx.finding(
        use,
        f"`{{symbol}}` {what} in torch {render(since)}; {had_by} had it",
        severity=Severity.ERROR,
        fix=fix,
    )
    for one in imports_at_first(use, ctx):
        message = f"`{{symbol}}` {what} in torch {render(since)}, so this import fails; {had_by} had it"
        yield ctx.finding(one, message, severity=Severity.ERROR)
