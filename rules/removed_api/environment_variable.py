"""An environment variable with a new name.

Why: torch 2.2 gave NCCL's variables the prefix `TORCH_`, and warns if an old name is set; torch 2.9 has one name for the
allocator's settings on all devices, and still reads the old one. Variables in images, scripts, workflows and `.env` files
are reported too, and those in commands inside strings.

    os.environ["NCCL_ASYNC_ERROR_HANDLING"] = "1"
    →
    os.environ["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "1"

Fix safety: unsafe; scripts outside the project, and older versions of torch, know only the old name.

Source: `torchmigrate/tables/data/changes.toml`, which names the wheel or the page for each.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchmigrate.api import Finding, Fix, Rule, Safety, Severity, Sort
from torchmigrate.rewrite.changes import Rename, Reword
from torchmigrate.semantics.guards import reach
from torchmigrate.tables import changes

from ._changes.making import require
from ._changes.prepared import is_guarded
from ._changes.strings import is_documentation, is_message, reworded

if TYPE_CHECKING:
    from torchmigrate.api import Context, Use
    from torchmigrate.documents.context import ReferenceContext
    from torchmigrate.documents.references import Reference
    from torchmigrate.model.versions import Version
    from torchmigrate.semantics.guards import Reach
    from torchmigrate.tables.changes import Change

_CHANGES = changes.by_symbol(changes.Kind.VARIABLE)

rule = Rule(
    code="RM751",
    symbols=tuple(_CHANGES),
    references=(Sort.VARIABLE,),
    safety=Safety.UNSAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    change, reached = _CHANGES[use.symbol], reach(use, ctx.uses)
    new = _new(change, use.name)
    if is_guarded(use, ctx, reached) or new.encode() in ctx.source.text:
        return  # code that names the new variable as well handles both
    if isinstance(use.node, ast.Constant) and use.node.value != use.name and is_message(use):
        return
    yield ctx.finding(
        use,
        _message(change, use.name, ctx.options.target),
        severity=Severity.INFO if is_documentation(use) else change.severity(ctx.options.target),
        fix=lambda: _fix(use, ctx, change, new, reached),
        source=change.source,
    )


def _fix(use: Use, ctx: Context, change: Change, new: str, reached: Reach) -> Fix:
    if isinstance(use.node, ast.keyword):  # `os.environ.update(NAME="1")`
        changed: Rename | Reword = Rename(use.node, new)
    else:
        assert isinstance(use.node, ast.Constant)
        changed = reworded(use.node, use.name, new, ctx)
    require(change.needs, ctx, reached)
    title = f"Set `{new}`; unsafe because older releases know only the old name"
    return Fix((changed,), Safety.UNSAFE, title)


@rule.check_reference
def check_reference(variable: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    change = _CHANGES.get(f"${variable.name}")
    if change is None or _new(change, variable.name).encode() in ctx.source.text:
        return
    target = ctx.options.target
    message, span = _message(change, variable.name, target), ctx.named(variable)
    yield ctx.finding(variable, message, change.severity(target), span=span, source=change.source)


def _new(change: Change, old: str) -> str:
    return change.instead.strip("`").replace("{leaf}", old)


def _message(change: Change, old: str, target: Version) -> str:
    return f"the environment variable `{old}` {change.state(target)}; use `{_new(change, old)}`"
