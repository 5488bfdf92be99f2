"""Names that the ledger has as lost, and that no entry by hand or other family is about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, Severity
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
"""What other families are about, what only torch's own tests use, what torch redirects in `sys.modules`, and what gets its
names at run time."""


_INSIDES = re.compile(
    r"torch\._dynamo\.polyfills\b|torch\.(?:_refs|_prims\w*|_decomp|_lazy|_numpy|_vendor)\b"
)
"""The insides of the compilers that only stand for operators and for other libraries."""


def lost(level: api.Level) -> tuple[str, ...]:
    """The symbols of one level, with all that was in its modules."""
    written = changes.by_symbol(*changes.Kind)
    prefixes = (*_OTHERS, *(symbol[:-2] for symbol in written if symbol.endswith(".*")))
    return tuple(
        sorted(
            name
            for name in (*api.lost(level), *(f"{module}.*" for module in api.lost(level, modules=True)))
            if name not in written and not name.startswith(prefixes) and not _INSIDES.match(name)
        )
    )


def findings(use: Use, ctx: Context, what: str, fix: Callable[[], Fix] | None = None) -> Iterator[Finding]:
    """The finding for a use of a name that the target lacks."""
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
    had_by = f"torch {render(first)} to {render(last)}" if first < last else f"torch {render(last)} alone"
    yield ctx.finding(
        use,
        f"`{{symbol}}` {what} since torch {render(since)}; {had_by} had it",
        severity=Severity.ERROR,
        fix=fix,
    )
    for one in imports_at_first(use, ctx):
        yield ctx.finding(
            one,
            f"`{{symbol}}` {what} since torch {render(since)}, and this import fails; {had_by} had it",
            severity=Severity.ERROR,
        )
