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

from torchmigrate.api import Context, Finding, Fix, NoFix, Rule, Safety, Severity, Sort, Use
from torchmigrate.documents.reference_context import ReferenceContext
from torchmigrate.documents.references import Reference
from torchmigrate.model.torch_versions import Version
from torchmigrate.rewrite.changes import Rename, Reword
from torchmigrate.semantics.version_guards import VersionReach, find_reach
from torchmigrate.tables import api_changes
from torchmigrate.tables.api_changes import ApiChange

from ._changes.change_fixes import require_minimum
from ._changes.missing_names import has_alternative
from ._changes.string_literals import is_documentation, is_message, replace_word

_CHANGES = api_changes.index_by_symbol(api_changes.ApiChangeKind.VARIABLE)

rule = Rule(
    code="RM751",
    symbols=tuple(_CHANGES),
    references=(Sort.VARIABLE,),
    safety=Safety.UNSAFE,
)


@rule.check
def check(use: Use, ctx: Context) -> Iterator[Finding]:
    change, reached = _CHANGES[use.symbol], find_reach(use, ctx.uses)
    new = _new_name(change, use.name)
    if has_alternative(use, ctx, reached) or new.encode() in ctx.source.text:
        return  # code that names the new variable as well handles both
    if isinstance(use.node, ast.Constant) and use.node.value != use.name and is_message(use):
        return
    yield ctx.finding(
        use,
        _render_message(change, use.name, ctx.options.target),
        severity=Severity.INFO if is_documentation(use) else change.find_severity(ctx.options.target),
        fix=lambda: _create_fix(use, ctx, change, new, reached),
        source=change.source,
    )


def _create_fix(use: Use, ctx: Context, change: ApiChange, new: str, reached: VersionReach) -> Fix:
    if change.was:
        raise NoFix(change.was)
    if isinstance(use.node, ast.keyword):  # `os.environ.update(NAME="1")`
        changed: Rename | Reword = Rename(use.node, new)
    else:
        assert isinstance(use.node, ast.Constant)
        changed = replace_word(use.node, use.name, new, ctx)
    require_minimum(change.needs, ctx, reached)
    title = f"Set `{new}`; unsafe because older releases know only the old name"
    return Fix((changed,), Safety.UNSAFE, title)


@rule.check_reference
def check_variable(variable: Reference, ctx: ReferenceContext) -> Iterator[Finding]:
    change = _CHANGES.get(f"${variable.name}")
    if change is None or _new_name(change, variable.name).encode() in ctx.source.text:
        return
    target = ctx.options.target
    message, span = _render_message(change, variable.name, target), ctx.find_name_span(variable)
    yield ctx.finding(variable, message, change.find_severity(target), span=span, source=change.source)


def _new_name(change: ApiChange, old: str) -> str:
    return change.instead.strip("`").replace("{leaf}", old)


def _render_message(change: ApiChange, old: str, target: Version) -> str:
    return f"the environment variable `{old}` {change.describe_state(target)}; use `{_new_name(change, old)}`"
