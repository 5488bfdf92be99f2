"""Names that torch has dropped, also before 2.0, and that no entry by hand and no other family covers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Kind, Rule, Severity
from torchmigrate.semantics.version_guards import find_reach
from torchmigrate.tables import api_changes, api_ledger, early_names
from torchmigrate.tables.companion_releases import render_range, render_release
from torchmigrate.tables.release_sets import RELEASES

from .missing_names import find_failing_imports, is_harmless
from .use_intent import is_replaced

if TYPE_CHECKING:
    from collections.abc import Callable

    from torchmigrate.api import Context, Use
    from torchmigrate.model.torch_versions import Version

_COVERED_ELSEWHERE = (
    *("torch.jit", "torch._jit_internal", "torch._C", "torch.utils.jit", "torch.utils.bundled_inputs"),
    *("torch.utils.mobile_optimizer", "torch.onnx.utils", "torch.onnx._internal", "torch.onnx.symbolic"),
    *("torch.testing._internal", "torch.distributed._functional_collectives"),
    *("torch.distributed._tensor", "torch.distributed._shard.checkpoint"),
    *("torch.distributed._sharded_tensor", "torch.distributed._sharding_spec"),
    *("torch.onnx.export_to_pretty_string", "torchtext"),
    *(
        "functorch.dim.Tensor",
        "torch.fx.experimental.sym_node",
        "torch.fx.experimental.symbolic_shapes.FloorDiv",
    ),
)
"""Prefixes of names that other rules cover, that only torch's own tests use, that torch redirects in `sys.modules`, or
that exist only at run time."""

_INTERNALS = re.compile(
    r"torch\._dynamo\.polyfills\b|torch\.(?:_refs|_prims\w*|_decomp|_lazy|_numpy|_vendor)\b"
)
"""Internals of the compilers, whose names are those of operators and of other libraries."""


def list_lost(level: api_ledger.Publicity) -> tuple[str, ...]:
    """Return the lost symbols of one level, and patterns for everything in its lost modules."""
    written = api_changes.index_by_symbol(*api_changes.ApiChangeKind)
    prefixes = tuple(symbol[:-2] for symbol in written if symbol.endswith(".*"))
    lost = (
        *api_ledger.find_lost_names(level),
        *(f"{module}.*" for module in api_ledger.find_lost_names(level, modules=True)),
    )
    others = {name for name in lost if not name.startswith(_COVERED_ELSEWHERE) and not _INTERNALS.match(name)}
    for name, early in early_names.load_early_names().items():
        if early.level == level:
            others |= {name, f"{name}.*"} if early.is_module else {name}
    return tuple(sorted(name for name in others if name not in written and not name.startswith(prefixes)))


def create_lost_rule(code: str, *levels: api_ledger.Publicity, what: str) -> Rule:
    """Create the rule that reports every use of a lost name of some levels; ``what`` is as for `check_lost`."""
    symbols = tuple(name for level in levels for name in list_lost(level))
    rule = Rule(code, symbols, pairs=dict.fromkeys(symbols, ()))

    @rule.check
    def check(use: Use, ctx: Context) -> Iterator[Finding]:
        yield from check_lost(use, ctx, what)

    return rule


def check_lost(use: Use, ctx: Context, what: str, fix: Callable[[], Fix] | None = None) -> Iterator[Finding]:
    """Yield a finding for a use of a name that the target lacks; ``what`` is the part of the message before the version."""
    releases = _find_last_releases(use.symbol.removesuffix(".*"), ctx.options.target)
    if releases is None or use.kind is Kind.GUARD or is_replaced(use):
        return
    if is_harmless(use, ctx, find_reach(use, ctx.uses)):
        return
    first, last, since = releases
    had_by = (
        render_range(use.symbol, first, last) if first < last else f"only {render_release(use.symbol, last)}"
    )
    removed = f"{what} in {render_release(use.symbol, since)}"
    yield ctx.finding(
        use,
        f"`{{symbol}}` {removed}; {had_by} had it",
        severity=Severity.ERROR,
        fix=fix,
    )
    for one in find_failing_imports(use, ctx):
        message = f"`{{symbol}}` {removed}, so this import fails; {had_by} had it"
        yield ctx.finding(one, message, severity=Severity.ERROR)


def _find_last_releases(name: str, target: Version) -> tuple[Version, Version, Version] | None:
    """Return the first and the last of the releases that had a name before a target that lacks it, and the next release."""
    if early := early_names.find_early_name(name):
        return early.first, early.last, early.next_release
    entry = api_ledger.find_entry(name)
    had = [run for run in entry.present.find_runs() if run[0] <= target] if entry is not None else []
    if entry is None or target in entry.present or not had:
        return None
    first, last = had[-1]
    return first, last, next(release for release in RELEASES if release > last)
